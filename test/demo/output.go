package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// output prints lines with the seconds since the start in front.
type output struct {
	w     io.Writer
	start time.Time
}

func newOutput(w io.Writer) *output { return &output{w: w, start: time.Now()} }

func (o *output) elapsed() time.Duration { return time.Since(o.start) }

// line prints one line of progress.
func (o *output) line(format string, args ...any) {
	fmt.Fprintf(o.w, "%6.1f s  %s\n", o.elapsed().Seconds(), fmt.Sprintf(format, args...))
}

// block prints a heading and a text below it, indented.
func (o *output) block(heading, text string) {
	fmt.Fprintf(o.w, "\n%s\n", heading)
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(o.w, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

// testbedClock is the testbed's own count of seconds, which starts later than ours.
var testbedClock = regexp.MustCompile(`^testbed +[0-9.]+ s +`)

// Write lets slow steps of others tell what they do, line by line.
func (o *output) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		o.line("%s", testbedClock.ReplaceAllString(strings.TrimRight(line, "\n"), ""))
	}
	return len(text), nil
}

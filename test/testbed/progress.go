//go:build linux

package testbed

import (
	"fmt"
	"io"
	"time"
)

// progress prints one line when a step starts and one when it ends.
type progress struct {
	w     io.Writer
	start time.Time
}

func newProgress(w io.Writer) *progress { return &progress{w: w, start: time.Now()} }

// step announces what and returns the function that reports its end; a failed step prints nothing more, for its error is
// the caller's to show.
func (p *progress) step(format string, args ...any) func(*error) {
	what, start := fmt.Sprintf(format, args...), time.Now()
	p.line("%s ...", what)
	return func(err *error) {
		if *err == nil {
			p.line("%s: done in %.1f s", what, time.Since(start).Seconds())
		}
	}
}

func (p *progress) line(format string, args ...any) {
	fmt.Fprintf(p.w, "testbed %6.1f s  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

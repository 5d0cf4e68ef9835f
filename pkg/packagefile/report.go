package packagefile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one finding about a package.
type Problem struct {
	// File is relative to the package's root; what is beside the package in
	// an image has its absolute path there.
	File string `json:"file"`
	// Pointer is the JSON pointer (RFC 6901) inside File; empty for the file as a whole.
	Pointer string `json:"pointer,omitempty"`
	Message string `json:"message"`
	// Fix says what to do about it.
	Fix string `json:"fix,omitempty"`
	// Platform lists the platforms of an image that have the problem; empty
	// for a package that is in no image.
	Platform string `json:"platform,omitempty"`
}

// String is one line, and [Printable].
func (p Problem) String() string {
	var b strings.Builder
	if p.Platform != "" {
		b.WriteString(p.Platform + ": ")
	}
	b.WriteString(p.File)
	if p.Pointer != "" {
		b.WriteString(" " + p.Pointer)
	}
	b.WriteString(": " + p.Message)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return Printable(b.String())
}

// Report is everything that was found: errors make a package unusable,
// warnings do not.
type Report struct {
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`
}

// Err is nil, or one error that lists every problem, one per line.
func (r Report) Err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	lines := make([]string, 0, len(r.Errors)+1)
	lines = append(lines, fmt.Sprintf("the package is not valid (%d problems)", len(r.Errors)))
	if len(r.Errors) == 1 {
		lines[0] = "the package is not valid"
	}
	for _, p := range r.Errors {
		lines = append(lines, p.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (r *Report) fail(pointer, fix, format string, args ...any) {
	r.failFile(ConfigFile, fix, format, args...)
	r.Errors[len(r.Errors)-1].Pointer = pointer
}

func (r *Report) warn(pointer, fix, format string, args ...any) {
	r.warnFile(ConfigFile, fix, format, args...)
	r.Warnings[len(r.Warnings)-1].Pointer = pointer
}

// WriteText writes the report for people, and what the package does if it is
// valid.
func (r Report) WriteText(w io.Writer, pkg *Package, valid bool) {
	for _, problem := range r.Errors {
		_, _ = fmt.Fprintf(w, "error: %s\n", problem)
	}
	for _, problem := range r.Warnings {
		_, _ = fmt.Fprintf(w, "warning: %s\n", problem)
	}
	verdict := "not valid"
	if valid {
		verdict = "valid"
		_ = pkg.Describe(w)
	}
	_, _ = fmt.Fprintf(w, "%s: %d errors, %d warnings\n", verdict, len(r.Errors), len(r.Warnings))
}

// failFile adds an error about a file other than config.json.
func (r *Report) failFile(file, fix, format string, args ...any) {
	r.Errors = append(r.Errors, Problem{File: file, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// warnFile adds a warning about a file other than config.json.
func (r *Report) warnFile(file, fix, format string, args ...any) {
	r.Warnings = append(r.Warnings, Problem{File: file, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// Printable is a text that is safe to show: what a terminal would take for a
// command to itself, as in the name of a file that somebody else chose, is
// written as Go writes it in quotes.
func Printable(text string) string {
	if !strings.ContainsFunc(text, unprintable) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// PrintableLines is [Printable] for a text of several lines.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for n, part := range parts {
			parts[n] = Printable(part)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// pointerTo joins reference tokens into a JSON pointer.
func pointerTo(tokens ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + escape.Replace(token))
	}
	return b.String()
}

// Package steplog carries the output of a step to the container's log and to
// log files on the host, line by line, and keeps its last lines for a summary.
//
// It must not know what a step is beyond its path.
package steplog

import (
	"bytes"
	"io"
	"time"
	"unicode/utf8"
)

// stampFormat is UTC; the fraction keeps the order within a second readable.
const stampFormat = "2006-01-02T15:04:05.000000Z"

// Stream prefixes every line with its label and the time its first byte came.
// It implements io.Writer, never fails, and is for one goroutine.
type Stream struct {
	label string
	limit int
	now   func() time.Time
	sinks []io.Writer

	pending   []byte
	began     time.Time
	continued bool
}

// NewStream writes to all sinks. Lines are kept whole up to limit bytes; a
// longer one is handed on in pieces, still as one line.
func NewStream(label string, limit int, now func() time.Time, sinks ...io.Writer) *Stream {
	return &Stream{label: label, limit: max(limit, utf8.UTFMax), now: now, sinks: sinks}
}

func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if len(s.pending) == 0 && !s.continued {
			s.began = s.now()
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.pending = append(s.pending, p...)
			s.spill()
			break
		}
		s.emit(append(s.pending, p[:end+1]...))
		s.pending, s.continued = s.pending[:0], false
		p = p[end+1:]
	}
	return n, nil
}

// Close hands on a last line that has no end.
func (s *Stream) Close() error {
	if len(s.pending) > 0 || s.continued {
		s.emit(append(s.pending, '\n'))
	}
	s.pending, s.continued = nil, false
	return nil
}

// spill hands on the start of a line that is too long to keep, cut between
// characters.
func (s *Stream) spill() {
	if len(s.pending) <= s.limit {
		return
	}
	cut := completeRunes(s.pending)
	s.emit(s.pending[:cut])
	s.pending, s.continued = append(s.pending[:0], s.pending[cut:]...), true
}

func (s *Stream) emit(text []byte) {
	var line []byte
	if !s.continued {
		line = append(line, s.label...)
		line = append(line, s.began.UTC().Format(stampFormat)...)
		line = append(line, ' ')
	}
	line = append(line, bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
	for _, sink := range s.sinks {
		// Losing log lines is no reason to stop a step half way.
		_, _ = sink.Write(line)
	}
}

// completeRunes is the length of text without a character cut at its end.
func completeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		start := len(text) - back
		if utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}

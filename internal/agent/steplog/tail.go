package steplog

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// maxTailLine bounds what is kept of a single line.
const maxTailLine = 1 << 10

// Tail keeps the last lines of both output streams. It is
// safe for use by several goroutines, each through a writer of its own.
//
// A stream that prints a lot does not push out what the other one said: the
// reason is often one line on standard error amid much on standard output.
type Tail struct {
	mu    sync.Mutex
	limit int
	lines []tailLine
	size  int
}

type tailLine struct {
	text string
	from *TailWriter
}

// NewTail keeps at most limit bytes.
func NewTail(limit int) *Tail { return &Tail{limit: limit} }

// Writer takes the output of one stream.
func (t *Tail) Writer() *TailWriter { return &TailWriter{tail: t} }

// String is the text kept, without a final newline.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	texts := make([]string, len(t.lines))
	for i, line := range t.lines {
		texts[i] = line.text
	}
	return LastBytes(strings.Join(texts, "\n"), t.limit)
}

func (t *Tail) add(from *TailWriter, line []byte, cut bool) {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if cut {
		text += " [...]"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, tailLine{text, from})
	t.grow(from, len(text)+1)
	for t.size > t.limit+1 && len(t.lines) > 1 {
		t.evict(from)
	}
}

// evict drops the oldest line of the stream that takes most of the space.
func (t *Tail) evict(newest *TailWriter) {
	largest := newest
	for _, line := range t.lines {
		if line.from.kept > largest.kept {
			largest = line.from
		}
	}
	for i, line := range t.lines {
		if line.from == largest {
			t.grow(largest, -len(line.text)-1)
			t.lines = slices.Delete(t.lines, i, i+1)
			return
		}
	}
}

func (t *Tail) grow(from *TailWriter, n int) {
	from.kept += n
	t.size += n
}

// TailWriter splits one stream into lines for its [Tail].
type TailWriter struct {
	tail *Tail
	line []byte
	cut  bool
	// kept is what the tail holds of this stream, in bytes; under its lock.
	kept int
}

func (w *TailWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		room := maxTailLine - len(w.line)
		w.cut = w.cut || len(part) > room
		w.line = append(w.line, part[:min(len(part), room)]...)
		if end < 0 {
			break
		}
		w.flush()
		p = p[end+1:]
	}
	return n, nil
}

// Close adds a last line that has no end.
func (w *TailWriter) Close() error {
	if len(w.line) > 0 {
		w.flush()
	}
	return nil
}

func (w *TailWriter) flush() {
	w.tail.add(w, w.line, w.cut)
	w.line, w.cut = w.line[:0], false
}

// LastBytes is the end of text: whole characters, at most limit bytes.
func LastBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

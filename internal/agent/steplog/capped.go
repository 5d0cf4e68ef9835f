package steplog

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Capped writes a log that keeps a head and an end when it grows beyond its
// limit, with a notice between. All of it is in the file at any time, so that
// it is there after a crash as well. It is for one goroutine.
type Capped struct {
	file  *os.File
	limit int64
	size  int64
	// head is where the notice begins, and kept where what follows it does;
	// both zero as long as nothing is left out.
	head, kept int64
	left       int64
}

// NewCapped writes to an empty file that can be read as well. The file gets a
// little larger than limit, by the notice.
func NewCapped(file *os.File, limit int64) *Capped { return &Capped{file: file, limit: limit} }

func (c *Capped) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if c.size >= c.limit {
			if err := c.shrink(); err != nil {
				return 0, err
			}
		}
		part := p[:min(int64(len(p)), c.limit-c.size)]
		written, err := c.file.WriteAt(part, c.size)
		c.size += int64(written)
		if err != nil {
			return 0, err
		}
		p = p[written:]
	}
	return n, nil
}

// shrink leaves out what is between the head, half of the limit, and the end,
// a quarter of it: so every byte is moved about once.
func (c *Capped) shrink() error {
	if c.head == 0 {
		start, err := c.lineFrom(c.limit / 2)
		if err != nil {
			return err
		}
		c.head, c.kept = start, start
	}
	from, err := c.lineFrom(max(c.kept, c.size-c.limit/4))
	if err != nil {
		return err
	}
	end := make([]byte, c.size-from)
	if _, err := c.file.ReadAt(end, from); err != nil {
		return err
	}
	c.left += from - c.kept
	notice := fmt.Appendf(nil, "[... %d bytes are left out here: the log is limited to %d ...]\n", c.left, c.limit)
	if _, err := c.file.WriteAt(append(notice, end...), c.head); err != nil {
		return err
	}
	c.kept = c.head + int64(len(notice))
	c.size = c.kept + int64(len(end))
	return c.file.Truncate(c.size)
}

// maxLineSearch is how far to look for the start of a line.
const maxLineSearch = 4 << 10

// lineFrom is the start of the first line at or after a place, or the place if
// there is none near it.
func (c *Capped) lineFrom(at int64) (int64, error) {
	near := make([]byte, min(maxLineSearch, c.size-at, c.limit/16))
	if _, err := c.file.ReadAt(near, at); err != nil && err != io.EOF {
		return 0, err
	}
	if end := bytes.IndexByte(near, '\n'); end >= 0 {
		return at + int64(end) + 1, nil
	}
	return at, nil
}

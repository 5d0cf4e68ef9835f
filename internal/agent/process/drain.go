package process

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drain carries one output stream of a command to a writer, through a pipe of
// our own. That of os/exec has one limit, WaitDelay, for a command that is to
// stop and for output that others hold open, and drops what is unread by then.
type drain struct {
	read, write *os.File
	sink        io.Writer
	done        chan struct{}
	// open says, once it is done, that someone still held the stream.
	open bool
}

func newDrain(sink io.Writer) (*drain, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &drain{read: read, write: write, sink: sink, done: make(chan struct{})}, nil
}

// start closes our copy of the writing end and reads in the background.
func (d *drain) start() {
	_ = d.write.Close()
	go func() {
		defer close(d.done)
		// Ends at the end of the stream or at the deadline that finish sets.
		_, err := io.Copy(deaf{d.sink}, d.read)
		d.open = errors.Is(err, os.ErrDeadlineExceeded) && d.rest()
	}()
}

func (d *drain) close() {
	_ = d.read.Close()
	_ = d.write.Close()
}

// finish waits until all streams ended, at most for patience, and reports
// whether one of them was still open then.
func finish(patience time.Duration, drains ...*drain) (held bool) {
	deadline := time.Now().Add(patience)
	for _, d := range drains {
		select {
		case <-d.done:
			continue
		case <-time.After(time.Until(deadline)):
		}
		_ = d.read.SetReadDeadline(time.Now())
		<-d.done
		held = held || d.open
	}
	return held
}

// maxRest is more than a pipe holds.
const maxRest = 1 << 20

// rest hands on what was written before the wait ended, and reports
// whether the stream is still open: a slow sink must not cost the last lines.
func (d *drain) rest() (open bool) {
	_ = d.read.SetReadDeadline(time.Time{})
	raw, err := d.read.SyscallConn()
	if err != nil {
		return true
	}
	buffer := make([]byte, 32<<10)
	for total := 0; total < maxRest; {
		n := 0
		// The file does not block: without data this comes back at once.
		_ = raw.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buffer)
			return true
		})
		if n <= 0 {
			return err != nil
		}
		_, _ = d.sink.Write(buffer[:n])
		total += n
	}
	return true
}

// deaf hides the errors of a writer.
type deaf struct{ io.Writer }

func (d deaf) Write(p []byte) (int, error) {
	_, _ = d.Writer.Write(p)
	return len(p), nil
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}

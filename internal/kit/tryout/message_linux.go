package tryout

import (
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// message is where the agent puts its termination message: in memory, so that
// no file is left on the machine however the run ends.
type message struct {
	file *os.File
	// path by which the agent, another process, gets to the file.
	path string
}

func newMessage() (message, error) {
	number, err := unix.MemfdCreate("message", unix.MFD_CLOEXEC)
	if err != nil {
		return message{}, fmt.Errorf("make room for the agent's message: %w", err)
	}
	// This process may have another number in the /proc of the machine.
	self, err := os.Readlink("/proc/self")
	if err != nil {
		_ = unix.Close(number)
		return message{}, fmt.Errorf("make room for the agent's message: %w", err)
	}
	return message{os.NewFile(uintptr(number), "message"), fmt.Sprintf("/proc/%s/fd/%d", self, number)}, nil
}

// read returns what was written last; each run of the agent begins anew.
func (m message) read() (string, error) {
	raw, err := io.ReadAll(io.NewSectionReader(m.file, 0, math.MaxInt32))
	if err != nil {
		return "", fmt.Errorf("read the agent's message: %w", err)
	}
	return string(raw), nil
}

func (m message) close() { _ = m.file.Close() }

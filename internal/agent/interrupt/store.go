package interrupt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// Store is the directory with the flags of one interrupt of one package.
// Hosts in the field have files "<type>_<index>.complete" there that hold a
// time; ours hold more lines, which the agents in the field do not read.
type Store struct {
	Dir string
}

// Command is one command of a request, and the flag it has.
type Command struct {
	// Name is "<type>_<index>".
	Name string
	// Line is the command with its arguments.
	Line string
	// BootID is that of the running system if the command is to change it.
	BootID string
	// Run is the operator's name for this interrupt; empty if it gives none.
	// The same package may be interrupted again under the same resource id,
	// as when its state on the node is reset.
	Run string
}

// Names of flag files.
const (
	completeSuffix = ".complete"
	startedSuffix  = ".started"
	noopFlag       = Noop + completeSuffix
)

// Keys of the lines after the first.
const (
	commandKey  = "command: "
	bootKey     = "boot_id: "
	attemptsKey = "attempts: "
	runKey      = "run: "
)

// Done reports whether the command has had its effect. A flag of another
// command (the list of services has changed) does not count, nor one of a
// reboot that was begun in the boot that still runs, nor one of another run.
func (s Store) Done(c Command) bool {
	raw, err := os.ReadFile(s.path(c.Name + completeSuffix))
	if err != nil {
		return false
	}
	if line, given := field(raw, commandKey); given && line != c.Line {
		return false
	}
	if run, given := field(raw, runKey); given && c.Run != "" && run != c.Run {
		return false
	}
	boot, given := field(raw, bootKey)
	return !given || c.BootID == "" || boot != c.BootID
}

// Complete notes that the command has had its effect, or, with a boot id, that
// it has once the boot id is another one.
func (s Store) Complete(c Command, now time.Time) error {
	content := timeText(now) + "\n" + commandKey + c.Line
	if c.BootID != "" {
		content += "\n" + bootKey + c.BootID
	}
	if c.Run != "" {
		content += "\n" + runKey + c.Run
	}
	if err := hostfs.WriteFile(s.path(c.Name+completeSuffix), []byte(content), 0o644); err != nil {
		return err
	}
	return s.Settle(c)
}

// Settle forgets that a command which is done was begun: an agent may have
// been killed between the two.
func (s Store) Settle(c Command) error { return hostfs.Remove(s.path(c.Name + startedSuffix)) }

// StartedFile is where the command is noted while it runs.
func (s Store) StartedFile(c Command) string { return s.path(c.Name + startedSuffix) }

// Lost is how many attempts have not come back: neither done nor failed nor
// stopped. Those of another run or of another command do not count.
func (s Store) Lost(c Command) int {
	raw, err := os.ReadFile(s.StartedFile(c))
	if err != nil {
		return 0
	}
	if line, given := field(raw, commandKey); given && line != c.Line {
		return 0
	}
	if run, _ := field(raw, runKey); run != c.Run {
		return 0
	}
	text, _ := field(raw, attemptsKey)
	lost, _ := strconv.Atoi(text)
	return lost
}

// Begin notes that the command is about to run.
func (s Store) Begin(c Command, now time.Time) error {
	content := timeText(now) + "\n" + attemptsKey + strconv.Itoa(s.Lost(c)+1) + "\n" + commandKey + c.Line
	if c.Run != "" {
		content += "\n" + runKey + c.Run
	}
	return hostfs.WriteFile(s.StartedFile(c), []byte(content), 0o644)
}

// Failed forgets the command, so that it is tried again.
func (s Store) Failed(c Command) error {
	return errors.Join(hostfs.Remove(s.path(c.Name+completeSuffix)), hostfs.Remove(s.path(c.Name+startedSuffix)))
}

// CompleteNoop notes an interrupt without commands.
func (s Store) CompleteNoop(now time.Time) error {
	return hostfs.WriteFile(s.path(noopFlag), []byte(timeText(now)), 0o644)
}

func (s Store) path(name string) string { return filepath.Join(s.Dir, name) }

// timeText is a Unix time in seconds, with a fraction.
func timeText(now time.Time) string {
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/int(time.Microsecond))
}

func field(raw []byte, key string) (value string, given bool) {
	for line := range strings.SplitSeq(string(raw), "\n") {
		if value, ok := strings.CutPrefix(line, key); ok {
			return value, true
		}
	}
	return "", false
}

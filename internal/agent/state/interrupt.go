package state

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

// Interrupt is the directory with the flags of one interrupt of one package.
// Hosts in the field have files "<type>_<index>.complete" there that hold a
// time; ours hold more lines, which the agents in the field do not read.
type Interrupt struct {
	Path string
}

// Interrupt is that of a resource id.
func (d Dir) Interrupt(resourceID string) Interrupt {
	return Interrupt{filepath.Join(d.interrupts(), resourceID)}
}

func (d Dir) interrupts() string { return filepath.Join(d.Path, "interrupts/flags") }

// RemoveOldInterrupts removes the flags of interrupts that a resource id
// supersedes.
func (d Dir) RemoveOldInterrupts(current string) error {
	pkg, now, ok := parseResource(current)
	if !ok {
		return nil
	}
	return removeFolders(d.interrupts(), func(name string) bool {
		other, generation, ok := parseResource(name)
		return ok && other == pkg && now.supersedes(generation)
	})
}

// Command is one command of an interrupt.
type Command struct {
	// Name is "<type>_<index>", or the type alone of an interrupt without commands.
	Name string
	// Line is the command with its arguments; empty without a command.
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
// A flag without a command is of an agent that knows no runs: it is of another
// one, from before this operator's first, however old it is.
func (i Interrupt) Done(c Command) bool {
	raw, err := os.ReadFile(i.path(c.Name + completeSuffix))
	if err != nil {
		return false
	}
	line, ours := field(raw, commandKey)
	if ours && line != c.Line {
		return false
	}
	if run, given := field(raw, runKey); c.Run != "" && run != c.Run && (given || !ours) {
		return false
	}
	boot, given := field(raw, bootKey)
	return !given || c.BootID == "" || boot != c.BootID
}

// Complete notes that the command has had its effect, or, with a boot id, that
// it has once the boot id is another one.
func (i Interrupt) Complete(c Command, now time.Time) error {
	content := flagText(now, [2]string{commandKey, c.Line}, [2]string{bootKey, c.BootID}, [2]string{runKey, c.Run})
	if err := hostfs.WriteFile(i.path(c.Name+completeSuffix), content, 0o644); err != nil {
		return err
	}
	return i.ForgetStart(c)
}

// ForgetStart forgets that a command which is done was begun: an agent may have
// been killed between the two.
func (i Interrupt) ForgetStart(c Command) error { return hostfs.Remove(i.StartedFile(c)) }

// StartedFile is where the command is noted while it runs.
func (i Interrupt) StartedFile(c Command) string { return i.path(c.Name + startedSuffix) }

// Lost is how many attempts have not come back: neither done nor failed nor
// stopped. Those of another run or of another command do not count.
func (i Interrupt) Lost(c Command) int {
	raw, err := os.ReadFile(i.StartedFile(c))
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
func (i Interrupt) Begin(c Command, now time.Time) error {
	content := flagText(now, [2]string{attemptsKey, strconv.Itoa(i.Lost(c) + 1)},
		[2]string{commandKey, c.Line}, [2]string{runKey, c.Run})
	return hostfs.WriteFile(i.StartedFile(c), content, 0o644)
}

// Forget forgets the command, so that it is tried again.
func (i Interrupt) Forget(c Command) error {
	return errors.Join(hostfs.Remove(i.path(c.Name+completeSuffix)), i.ForgetStart(c))
}

func (i Interrupt) path(name string) string { return filepath.Join(i.Path, name) }

// flagText is a Unix time in seconds, with a fraction, and a line for each pair of a key and a value that is not empty.
func flagText(now time.Time, pairs ...[2]string) []byte {
	text := fmt.Appendf(nil, "%d.%06d", now.Unix(), now.Nanosecond()/int(time.Microsecond))
	for _, pair := range pairs {
		if key, value := pair[0], pair[1]; value != "" {
			text = append(text, "\n"+key+value...)
		}
	}
	return text
}

func field(raw []byte, key string) (value string, given bool) {
	for line := range strings.SplitSeq(string(raw), "\n") {
		if value, ok := strings.CutPrefix(line, key); ok {
			return value, true
		}
	}
	return "", false
}

package tryout

import (
	"io"
	"regexp"
	"slices"
	"sync"
)

// ignoredCommands are those that systemctl did nothing for. It then succeeds
// all the same, also where it is asked for the state of a unit: a check that
// goes by it has proved nothing.
type ignoredCommands struct {
	mutex sync.Mutex
	names []string
}

// ignoring is what systemctl says, in this or an earlier version.
var ignoring = regexp.MustCompile(`Running in chroot, ignoring (?:command|request)[: ]*'?([a-z-]+)`)

// maxIgnoring bounds what is remembered of a line.
const maxIgnoring = 4096

// watch returns a writer that looks for such commands on the way to another.
func (c *ignoredCommands) watch(to io.Writer) io.Writer { return &ignoredWatch{commands: c, to: to} }

func (c *ignoredCommands) add(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
}

// list is sorted.
func (c *ignoredCommands) list() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Sorted(slices.Values(c.names))
}

type ignoredWatch struct {
	commands *ignoredCommands
	to       io.Writer
	line     []byte
}

func (w *ignoredWatch) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			if len(w.line) < maxIgnoring {
				w.line = append(w.line, b)
			}
			continue
		}
		if found := ignoring.FindSubmatch(w.line); found != nil {
			w.commands.add(string(found[1]))
		}
		w.line = w.line[:0]
	}
	return w.to.Write(p)
}

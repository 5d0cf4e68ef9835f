package tryout

import (
	"io"
	"regexp"
	"slices"
	"sync"
)

// told is what the output of steps tells of the trial itself.
type told struct {
	mutex sync.Mutex
	// commands are those that systemctl did nothing for. It then succeeds all the
	// same, also where it is asked for the state of a unit: a check that goes by it
	// has proved nothing.
	commands []string
	// met are the hints, by their place.
	met [len(hints)]bool
}

// ignoring is what systemctl says, in this or an earlier version.
var ignoring = regexp.MustCompile(`Running in chroot, ignoring (?:command|request)[: ]*'?([a-z-]+)`)

// hints say what an error may mean in a trial that it would not on a host.
var hints = [...]struct {
	said  *regexp.Regexp
	cause string
}{
	{
		regexp.MustCompile(`Read-only file system`),
		"/sys, /dev and parts of /proc are read-only in a trial",
	},
	{
		regexp.MustCompile(`Operation not permitted|ermission denied`),
		"a trial may not make devices, load modules, reboot, or set the clock, the network and the firewall",
	},
	{
		regexp.MustCompile(`not been booted with systemd|Failed to connect to (?:the )?(?:system )?(?:scope )?bus|systemd bus`),
		"a trial has no services, and systemctl by another way than PATH does not leave out --now",
	},
	{
		regexp.MustCompile(`Device or resource busy`),
		"/proc, /sys and /dev of a trial are mounted, and cannot be moved or removed",
	},
	{
		regexp.MustCompile(`[Mm]odule \S+ not found|No such device`),
		"a trial has the kernel of this machine, and none of its devices",
	},
}

// maxLine bounds what is remembered of a line.
const maxLine = 4096

// watch returns a writer that looks for such lines on the way to another.
func (t *told) watch(to io.Writer) io.Writer { return &watched{told: t, to: to} }

func (t *told) line(line []byte) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := ignoring.FindSubmatch(line); len(found) > 1 && !slices.Contains(t.commands, string(found[1])) {
		t.commands = append(t.commands, string(found[1]))
	}
	for i, hint := range hints {
		t.met[i] = t.met[i] || hint.said.Match(line)
	}
}

// ignored are the commands, sorted.
func (t *told) ignored() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Sorted(slices.Values(t.commands))
}

// causes are what the trial may have to do with a failure.
func (t *told) causes() (causes []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for i, met := range t.met {
		if met {
			causes = append(causes, hints[i].cause)
		}
	}
	return causes
}

type watched struct {
	told *told
	to   io.Writer
	last []byte
}

func (w *watched) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			if len(w.last) < maxLine {
				w.last = append(w.last, b)
			}
			continue
		}
		w.told.line(w.last)
		w.last = w.last[:0]
	}
	return w.to.Write(p)
}

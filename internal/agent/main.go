package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Exit codes. Kubernetes only tells zero from the rest; the others are for people.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 128 + 15
)

// Program is what the agent was started with.
type Program struct {
	// Args are the arguments without the program's name.
	Args    []string
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
	// Version is the agent's own.
	Version string
}

// Main runs the agent and returns its exit code. It moves the whole process
// into the host's root directory, so it can be called once. When ctx is done,
// a running step is stopped and the agent fails.
func Main(ctx context.Context, p Program) int {
	if code, done := p.answer(); done {
		return code
	}
	call, err := parseCommandLine(p.Args)
	if err != nil {
		p.complain(err)
		p.printUsage(p.Stderr)
		return exitUsage
	}
	env := parseEnviron(p.Environ)
	set := readSettings(env)
	// Opened now: the file is not part of the host's root.
	message := openMessage(set.MessageFile)
	defer message.close()
	p, flush := p.relayed()
	defer flush(ctx)
	a := &agent{Program: p, commandLine: call, settings: set, env: env, now: time.Now}
	a.secrets = steplog.NewSecrets(a.secretValues())
	err = a.runToTheEnd(ctx)
	if err == nil {
		return exitDone
	}
	err = maskedError{err, a.secrets}
	// The message first: it needs no reader.
	message.write(err)
	p.complain(err)
	if errors.Is(err, errStopped) {
		return exitStopped
	}
	return exitFailed
}

// answer handles the modes that touch no host.
func (p Program) answer() (code int, done bool) {
	if len(p.Args) == 0 {
		return 0, false
	}
	switch mode := strings.TrimLeft(p.Args[0], "-"); mode {
	case modeComplete:
		return exitDone, true
	case modeVersion:
		_, _ = fmt.Fprintln(p.Stdout, p.Version)
		return exitDone, true
	case modeHelp, "h":
		p.printUsage(p.Stdout)
		return exitDone, true
	case modeLogs:
		return p.printLogs(p.Args[1:]), true
	case modeValidate:
		return p.validatePackage(p.Args[1:]), true
	case modeRun:
		p.complain(errors.New("skyhook-agent run is gone, because the agent only works on nodes: use skyhook package run"))
		return exitUsage, true
	}
	return 0, false
}

func (p Program) printUsage(w io.Writer) {
	_, _ = fmt.Fprintf(w, usage, strings.Join(packagefile.ModeNames(), ", "))
}

func (p Program) complain(err error) {
	_, _ = fmt.Fprintf(p.Stderr, "ERROR: %s\n", packagefile.PrintableLines(err.Error()))
}

func (p Program) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, "WARNING: %s\n", packagefile.PrintableLines(fmt.Sprintf(format, args...)))
}

// oneLine is for errors that may be several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (p Program) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stdout, "%s\n", packagefile.PrintableLines(fmt.Sprintf(format, args...)))
}

// knownModes are those that run on a host, for messages.
func knownModes() []string {
	names := append(packagefile.ModeNames(), modeInterrupt, modeComplete)
	slices.Sort(names)
	return names
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/interrupt"
	"github.com/skyhook-operator/skyhook/internal/agent/process"
	"github.com/skyhook-operator/skyhook/internal/agent/state"
)

const (
	bootIDFile = "/proc/sys/kernel/random/boot_id"

	// maxLost is how often a command is begun that never came back. Its own
	// effect may be what kills the agent, as when the container runtime is
	// restarted; then it would go on for ever.
	maxLost = 3
)

// interrupts is a run of one interrupt.
type interrupts struct {
	*agent
	request interrupt.Request
	// kept is what the host keeps of it.
	kept   state.Interrupt
	logDir string
	dir    string
	bootID string
	// own is the directory with the package's own state.
	own string
}

// runInterrupt does to the host what the package asked for. The package
// itself need not be there.
func (a *agent) runInterrupt(ctx context.Context) error {
	request, err := interrupt.Parse(a.Data)
	if err != nil {
		return err
	}
	name, version, ok := a.identity()
	if !ok || strings.ContainsAny(a.ResourceID, "/\x00") {
		return fmt.Errorf("SKYHOOK_RESOURCE_ID is %q, but an interrupt needs the form "+
			"<skyhook>-<uid>-<generation>_<package>_<version>", a.ResourceID)
	}
	own, err := a.openContainer()
	if err != nil {
		return err
	}
	defer own.close()
	boot := readBootID()
	if err := enterHost(a.RootMount); err != nil {
		return err
	}
	// The host's own view comes first: it may differ from the container's
	// where hosts are containers themselves.
	if text := readBootID(); text != "" {
		boot = text
	}
	i := &interrupts{
		agent: a, request: request, bootID: boot, own: a.state().OwnOf(name),
		kept:   a.state().Interrupt(a.ResourceID),
		logDir: filepath.Join(a.LogDir, name, version, "interrupts"),
	}
	a.printBanner(i.kept.Path, i.logDir, "None")
	if err := i.prepare(ctx, own); err != nil {
		return err
	}
	if err := i.runAll(ctx); err != nil {
		return err
	}
	if err := a.state().RemoveOldInterrupts(a.ResourceID); err != nil {
		i.warn("%s", oneLine(err))
	}
	return nil
}

// prepare brings the package to the host as a stage would, if the agent's
// image has it; without one, commands run in the host's root directory.
func (i *interrupts) prepare(ctx context.Context, own container) error {
	if err := i.prepareHost(own); err != nil && !errors.Is(err, errNoPackage) {
		return err
	}
	// A reboot is the way out of what cannot be ended otherwise.
	if i.request.Type != interrupt.Reboot {
		if err := i.lock(ctx, filepath.Base(i.own)); err != nil {
			return err
		}
		if err := i.awaitEarlier(ctx, i.own); err != nil {
			return err
		}
	}
	i.home, i.dir = rootHome(), "/"
	if info, err := os.Stat(i.CopyDir); err == nil && info.IsDir() {
		i.dir = i.CopyDir
	}
	return nil
}

func (i *interrupts) runAll(ctx context.Context) error {
	if i.request.Type == interrupt.Noop {
		return i.kept.Complete(state.Command{Name: interrupt.Noop}, i.now())
	}
	if i.request.Type == interrupt.RestartService && len(i.request.Services) == 0 {
		i.warn("the interrupt names no services to restart; add them to interrupt.services of the package")
	}
	for index, argv := range i.request.Commands() {
		c := state.Command{Name: i.request.Type + "_" + strconv.Itoa(index), Line: strings.Join(argv, " "), Run: i.Run}
		if i.request.Type == interrupt.Reboot {
			c.BootID = i.bootID
		}
		if i.overtaken() {
			i.say("Skipping interrupt %s (%s): it was to end boot %s, and the host runs boot %s: it is done",
				c.Name, c.Line, i.EndsBoot, i.bootID)
			continue
		}
		if i.kept.Done(c) {
			i.say("Skipping interrupt %s (%s): it is done", c.Name, c.Line)
			if err := i.kept.ForgetStart(c); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupt %s was not run: %w", c.Line, errStopped)
		}
		if err := i.runOne(ctx, c, argv); err != nil {
			i.say("INTERRUPT FAILED: %s", c.Line)
			return err
		}
	}
	return nil
}

// overtaken reports whether the boot that a reboot was to end is over. Flags
// alone do not tell it: they are gone on a host whose root does not outlive a
// boot, and on another host that took the node's name.
func (i *interrupts) overtaken() bool {
	return i.request.Type == interrupt.Reboot && i.EndsBoot != "" && i.bootID != "" && i.EndsBoot != i.bootID
}

func (i *interrupts) runOne(ctx context.Context, c state.Command, argv []string) error {
	if i.request.Type == interrupt.Reboot {
		return i.reboot(ctx, c, argv)
	}
	lost := i.kept.Lost(c)
	if lost >= maxLost {
		return fmt.Errorf("interrupt %s was started %d times, and each time the agent was gone before it ended; it "+
			"is not started again. "+
			"Find out what kills the agent; then run the interrupt again, or remove %s on the host",
			c.Line, lost, i.kept.StartedFile(c))
	}
	if err := i.kept.Begin(c, i.now()); err != nil {
		return err
	}
	if err := i.execute(ctx, c, argv); err != nil {
		// Also one that was stopped has come to an end, and does not count.
		return errors.Join(err, i.kept.Forget(c))
	}
	return i.kept.Complete(c, i.now())
}

// reboot leaves its flag before it runs: nothing can be written afterwards.
// The flag holds the boot id, and counts once another system runs.
func (i *interrupts) reboot(ctx context.Context, c state.Command, argv []string) error {
	if err := i.kept.Complete(c, i.now()); err != nil {
		return err
	}
	var failed *stepError
	err := i.execute(ctx, c, argv)
	switch {
	case errors.As(err, &failed) && failed.code < 0:
		// Killed by a signal: most likely the system is going down. If it is
		// not, the boot id will tell.
		return err
	case err != nil && !errors.Is(err, errStopped):
		return errors.Join(err, i.kept.Forget(c))
	case err != nil:
		return err
	}
	return i.awaitReboot(ctx)
}

// awaitReboot does not return success: the command only asks for the reboot,
// and a stage that goes on now would be cut off.
func (i *interrupts) awaitReboot(ctx context.Context) error {
	timer := time.NewTimer(i.RebootPatience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("the host is rebooting: %w", errStopped)
	case <-timer.C:
		return fmt.Errorf("the host was told to reboot, but still runs after %v; systemctl list-jobs on the host "+
			"shows what it waits for", i.RebootPatience)
	}
}

func (i *interrupts) execute(ctx context.Context, c state.Command, argv []string) error {
	env := i.hostEnviron()
	program, err := findProgram(argv[0], env["PATH"])
	if err != nil {
		return fmt.Errorf("interrupt %s could not be started: %w", c.Line, err)
	}
	out := i.openOutput(i.logDir, c.Name, nil)
	i.say("%s", c.Line)
	out.head(c.Line)
	limited, cancel := limit(ctx, i.InterruptLimit)
	defer cancel()
	result, err := process.Run(limited, process.Command{
		Path: program, Args: argv[1:], Dir: i.dir, Env: env.list(), Stdout: out.stdout, Stderr: out.stderr,
		Started: i.noteRunning(i.own, "interrupt "+c.Line), Table: i.table,
	}, i.patience())
	i.forgetRunning(i.own, result)
	out.close()
	sentence := fmt.Sprintf("interrupt %s %s", c.Line, result)
	switch {
	case err != nil:
		return fmt.Errorf("interrupt %s could not be started: %w", c.Line, err)
	case result.Stopped && ctx.Err() == nil && len(result.Left) == 0:
		sentence = fmt.Sprintf("interrupt %s did not end within %v, and %s when told to stop",
			c.Line, i.InterruptLimit, result)
	case result.Code == 0 && result.Signal == 0:
		return nil
	case ctx.Err() != nil:
		return &stepError{
			sentence: sentence + " after the agent was told to stop",
			code:     result.Code, output: out.tail.String(), cause: errStopped,
		}
	}
	return &stepError{sentence: sentence, code: result.Code, output: out.tail.String()}
}

// findProgram looks a program up on the host.
func findProgram(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("the host has no %s in %s", name, path)
}

// readBootID is empty if the system does not tell.
func readBootID() string {
	raw, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

package tryout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// program is this one, whatever its file is called by now.
const program = "/proc/self/exe"

// Inside is the child's part, in namespaces of its own: it mounts, copies the
// package, and runs the agent. It tells the command how that went.
func Inside(ctx context.Context, warnings io.Writer) int {
	report := os.NewFile(outcomeFile, "outcome")
	orders := os.NewFile(planFile, "plan")
	if report == nil || orders == nil {
		return 1
	}
	// Neither is for the agent and its steps.
	syscall.CloseOnExec(planFile)
	syscall.CloseOnExec(outcomeFile)
	tell := json.NewEncoder(report)
	var p plan
	err := json.NewDecoder(orders).Decode(&p)
	if err == nil {
		err = p.carryOut(ctx, warnings, func(o outcome) error { return tell.Encode(o) })
	}
	if err != nil {
		_ = tell.Encode(outcome{Error: err.Error()})
		return 1
	}
	return 0
}

func (p plan) carryOut(ctx context.Context, warnings io.Writer, tell func(outcome) error) error {
	warn := func(format string, args ...any) { fmt.Fprintf(warnings, "WARNING: "+format+"\n", args...) }
	if err := p.mount(warn); err != nil {
		return err
	}
	id, err := p.place()
	if err != nil {
		return err
	}
	if err := p.enter(); err != nil {
		return err
	}
	message, err := newMessage()
	if err != nil {
		return err
	}
	defer message.close()
	before := readSettings(settingsDir)
	if err := p.runModes(ctx, id, message, tell); err != nil {
		return err
	}
	return p.tellSettings(before, tell)
}

// runModes goes on as long as they succeed.
func (p plan) runModes(ctx context.Context, id identity, message message, tell func(outcome) error) error {
	for _, mode := range p.Modes {
		run, err := p.runAgent(ctx, id, mode, message)
		if err != nil {
			return err
		}
		if err := tell(outcome{Run: &run}); err != nil || run.ExitCode != 0 || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// runAgent starts the agent as a pod's container does, and waits for its end.
func (p plan) runAgent(ctx context.Context, id identity, mode packagefile.Mode, message message) (Run, error) {
	began := time.Now()
	args := []string{"skyhook", AgentMode, string(mode), p.Root, id.copyDir()}
	var contained []string
	if !p.Machine {
		contained = containedEnv
	}
	env := append(Trial{Env: p.Env}.environ(id, contained...), "SKYHOOK_AGENT_TERMINATION_LOG="+message.path)
	pid, err := syscall.ForkExec(program, args, &syscall.ProcAttr{Dir: "/", Env: env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return Run{}, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			_ = syscall.Kill(pid, syscall.SIGTERM)
		case <-ended:
		}
	}()
	status, err := reap(pid)
	if err != nil {
		return Run{}, fmt.Errorf("wait for the agent: %w", err)
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	text, err := message.read()
	return Run{Mode: string(mode), ExitCode: code, Seconds: time.Since(began).Seconds(), Message: text}, err
}

// reap waits for one process. This is the first process of its namespace, so
// those that lost their parent are its to wait for as well: the agent goes on
// only when nothing is left of a step that it has stopped.
func reap(pid int) (status syscall.WaitStatus, err error) {
	for {
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || ended == pid {
			return status, err
		}
	}
}

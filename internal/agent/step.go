package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/process"
	"github.com/skyhook-operator/skyhook/internal/agent/state"
	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// outputPatience is how long to wait for output after a step ended while a
// process that it left behind still holds the pipe.
const outputPatience = time.Second

// Log readers in the field look for this spelling.
const succeeded = "SUCEEDED: %s" //nolint:misspell // kept on purpose

// runStep runs one step on the host; the error says how it failed.
func (s *stage) runStep(ctx context.Context, step packagefile.Step) error {
	if ctx.Err() != nil {
		return fmt.Errorf("step %s was not run: %w", title(step), errStopped)
	}
	s.say("%s %s %s %s %s %s", s.mode, step.Path, state.PythonStrings(step.Arguments),
		state.PythonNumbers(step.ReturnCodes), idempotence(step), state.PythonBool(step.OnHost))
	err := s.execute(ctx, step)
	if err == nil {
		s.say(succeeded, title(step))
		return nil
	}
	code := "not run"
	var failed *stepError
	if errors.As(err, &failed) {
		code = strconv.Itoa(failed.code)
	}
	s.say("FAILED: %s %s", title(step), code)
	return err
}

func (s *stage) execute(ctx context.Context, step packagefile.Step) error {
	arguments, secrets, err := s.arguments(step)
	if err != nil {
		return err
	}
	script := filepath.Join(s.CopyDir, packagefile.StepDir, step.Path)
	if err := makeExecutable(script); err != nil {
		return fmt.Errorf("step %s could not be started: %w", title(step), err)
	}
	path, arguments := commandFor(script, arguments)
	out := s.openOutput(s.logDir(s.pkg), step.Path, secrets)
	limited, cancel := limit(ctx, s.StepLimit)
	defer cancel()
	result, err := process.Run(limited, process.Command{
		Path: path, Args: arguments, Dir: s.CopyDir, Env: s.environ(step),
		Stdout: out.stdout, Stderr: out.stderr, Namespace: s.namespace,
		Started: s.noteRunning(s.own(), "step "+title(step)), Table: s.table,
	}, s.patience())
	s.forgetRunning(s.own(), result)
	out.close()
	failure := &stepError{
		sentence: verdict(step, result), code: result.Code, output: out.tail.String(), logs: out.files,
	}
	switch {
	case err != nil:
		return fmt.Errorf("step %s could not be started: %w", title(step), explainStart(script, err))
	case result.Stopped:
		failure.sentence, failure.cause = s.stopped(ctx, title(step), result)
		// It may hold the command line of a process, with the arguments' values.
		failure.sentence = steplog.NewSecrets(secrets).Mask(failure.sentence)
		return failure
	case result.OutputHeld:
		s.say("step %s left a process behind that still holds its output; not waiting for it", step.Path)
	}
	if result.Signal == 0 && step.Accepts(result.Code) {
		return nil
	}
	return failure
}

// stopped says how a step ended that was told to stop.
func (s *stage) stopped(ctx context.Context, title string, result process.Result) (sentence string, cause error) {
	sentence = fmt.Sprintf("step %s did not end within %v, and %s when told to stop", title, s.StepLimit, result)
	if ctx.Err() != nil {
		sentence, cause = fmt.Sprintf("step %s %s after the agent was told to stop", title, result), errStopped
	}
	if len(result.Left) > 0 {
		sentence = fmt.Sprintf("step %s %s", title, result)
		cause = errors.Join(errUnkillable, cause)
	}
	return sentence, cause
}

func (a *agent) patience() process.Patience {
	return process.Patience{Stop: a.StopPatience, Kill: killPatience, Output: outputPatience}
}

// limit ends with the time that a command may take; zero is for ever.
func limit(ctx context.Context, longest time.Duration) (context.Context, context.CancelFunc) {
	if longest <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longest)
}

// shellKilled is the exit code of a shell whose command was killed by SIGKILL.
const shellKilled = 128 + int(syscall.SIGKILL)

func verdict(step packagefile.Step, result process.Result) string {
	sentence := fmt.Sprintf("step %s %s", title(step), result)
	if codes := step.AcceptedCodes(); codes != "0" {
		sentence += " (success would be " + codes + ")"
	}
	// Which of the two it was, only the host knows.
	if result.Signal == syscall.SIGKILL || result.Code == shellKilled {
		sentence += "; the kernel does this when memory runs out: see dmesg on the host, and raise resources of the " +
			"package in the Skyhook"
	}
	return sentence
}

// title names a step with its arguments as written: "env:" references stay
// references, so that no value of a secret is ever printed.
func title(step packagefile.Step) string {
	return strings.Join(append([]string{step.Path}, step.Arguments...), " ")
}

func idempotence(step packagefile.Step) string {
	if step.AlwaysRun {
		return "Idempotence.Disabled"
	}
	return "Idempotence.Auto"
}

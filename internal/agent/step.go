package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/flags"
	"github.com/skyhook-operator/skyhook/internal/agent/process"
	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// outputPatience is how long to wait for output after a step ended while a
// process that it left behind still holds the pipe.
const outputPatience = time.Second

// runStep runs one step on the host; the error says how it failed.
func (s *stage) runStep(ctx context.Context, step packagefile.Step) error {
	if ctx.Err() != nil {
		return fmt.Errorf("step %s was not run: %w", title(step), errStopped)
	}
	s.say("%s %s %s %s %s %s", s.mode, step.Path, flags.ReprStrings(step.Arguments), flags.ReprNumbers(step.ReturnCodes), idempotence(step), truth(step.OnHost))
	err := s.execute(ctx, step)
	if err == nil {
		s.say("SUCEEDED: %s", title(step))
		return nil
	}
	code := "not run"
	var failed *stepFailed
	if errors.As(err, &failed) {
		code = fmt.Sprint(failed.code)
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
	out, err := s.openOutput(step, secrets)
	if err != nil {
		return err
	}
	result, err := process.Run(ctx, process.Command{
		Path: script, Args: arguments, Dir: s.CopyDir, Env: s.environ(step), Stdout: out.stdout, Stderr: out.stderr,
	}, process.Patience{Stop: s.StopPatience, Output: outputPatience})
	out.close()
	switch {
	case err != nil:
		return fmt.Errorf("step %s could not be started: %w", title(step), explainStart(script, err))
	case ctx.Err() != nil:
		return &stepFailed{sentence: fmt.Sprintf("step %s %s after the agent was told to stop", title(step), result), code: result.Code, output: out.tail.String(), cause: errStopped}
	case result.OutputHeld:
		s.say("step %s left a process behind that still holds its output; not waiting for it", step.Path)
	}
	if result.Signal == 0 && step.Accepts(result.Code) {
		return nil
	}
	return &stepFailed{sentence: verdict(step, result), code: result.Code, output: out.tail.String()}
}

func verdict(step packagefile.Step, result process.Result) string {
	sentence := fmt.Sprintf("step %s %s", title(step), result)
	if codes := step.AcceptedCodes(); codes != "0" {
		sentence += " (success would be " + codes + ")"
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

const envReference = "env:"

// arguments puts the values of variables in place of references to them, and
// adds the versions for an upgrade step. All missing variables are named.
func (s *stage) arguments(step packagefile.Step) (arguments, secrets []string, err error) {
	var missing []error
	for _, argument := range step.Arguments {
		rest, isReference := strings.CutPrefix(argument, envReference)
		if !isReference {
			arguments = append(arguments, argument)
			continue
		}
		// What follows a second "env:" is ignored; packages rely on it.
		name, _, _ := strings.Cut(rest, envReference)
		value, given := s.env[name]
		if !given {
			missing = append(missing, fmt.Errorf("%s: Expected environment variable did not exist: %s", step.Path, name))
			continue
		}
		arguments, secrets = append(arguments, value), append(secrets, value)
	}
	if step.UpgradeStep && s.mode.IsUpgrade() {
		arguments = append(arguments, s.previous, s.pkg.Version)
	}
	return arguments, secrets, errors.Join(missing...)
}

// standardPath is where hosts keep their commands; the container's own PATH
// may know less.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment of a step: the container's, made fit for the
// host, then the step's own, then what the agent promises to every step.
func (s *stage) environ(step packagefile.Step) []string {
	env := maps.Clone(s.env)
	env["PATH"] = hostPath(env["PATH"])
	if env["HOME"] == "" || env["HOME"] == "/" {
		// The container runtime sets "/" for an image without users.
		env["HOME"] = s.home
	}
	maps.Copy(env, step.Env)
	if s.mode.IsUpgrade() {
		env["PREVIOUS_VERSION"], env["CURRENT_VERSION"] = s.previous, s.pkg.Version
	}
	env["STEP_ROOT"] = filepath.Join(s.CopyDir, packagefile.StepDir)
	env["SKYHOOK_DIR"] = s.CopyDir
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// hostPath adds the standard directories that path does not have.
func hostPath(path string) string {
	dirs := filepath.SplitList(path)
	for _, dir := range filepath.SplitList(standardPath) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// makeExecutable is needed because images are often built without the bits.
func makeExecutable(script string) error {
	info, err := os.Stat(script)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o111 != 0o111 {
		return os.Chmod(script, mode|0o111)
	}
	return nil
}

// explainStart adds what the kernel's error number leaves out.
func explainStart(script string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; start the script with a line such as #!/bin/bash", err)
	case errors.Is(err, fs.ErrNotExist):
		if first := interpreter(script); first != "" {
			return fmt.Errorf("%w; the host has no %s", err, first)
		}
	}
	return err
}

// interpreter is what a script's "#!" line names, or empty.
func interpreter(script string) string {
	file, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 256)
	n, _ := io.ReadFull(file, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// output carries a step's two streams to where they go.
type output struct {
	stdout, stderr io.Writer
	tail           *steplog.Tail
	closers        []io.Closer
	reap           func()
}

func (s *stage) openOutput(step packagefile.Step, secrets []string) (*output, error) {
	tail := steplog.NewTail(maxMessageOutput, secrets)
	outSinks, errSinks := []io.Writer{s.Stdout}, []io.Writer{s.Stderr}
	files, err := s.openLogs(step)
	if err != nil {
		return nil, err
	}
	if files != nil {
		outSinks, errSinks = append(outSinks, files.Out), append(errSinks, files.Err)
	}
	stdout := steplog.NewStream("[out]", s.BufferLimit, s.now, outSinks...)
	stderr := steplog.NewStream("[err]", s.BufferLimit, s.now, errSinks...)
	outTail, errTail := tail.Writer(), tail.Writer()
	out := &output{
		stdout: io.MultiWriter(stdout, outTail), stderr: io.MultiWriter(stderr, errTail), tail: tail,
		closers: []io.Closer{stdout, stderr, outTail, errTail}, reap: func() {},
	}
	if files != nil {
		out.closers = append(out.closers, files)
		out.reap = func() {
			if err := steplog.Reap(s.logDir(s.pkg), step.Path, steplog.Keep); err != nil {
				s.warn("%v", err)
			}
		}
	}
	return out, nil
}

// openLogs is nil without an error if there are to be no log files.
func (s *stage) openLogs(step packagefile.Step) (*steplog.Files, error) {
	if !s.WriteLogs {
		return nil, nil
	}
	return steplog.Create(s.logDir(s.pkg), step.Path, s.now())
}

func (o *output) close() {
	for _, c := range o.closers {
		// A full disk must not turn a step that has done its work into a failure.
		_ = c.Close()
	}
	o.reap()
}

package tryout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Run runs the trial. The output of the agent and its steps goes to stdout and
// stderr while it comes. The report is complete if there is no error; that a
// step failed is none.
func (t Trial) Run(ctx context.Context, stdout, stderr io.Writer) (Report, error) {
	if os.Geteuid() != 0 {
		return Report{}, errors.New("this mounts file systems and enters the root folder, so it needs root: use sudo")
	}
	pkg, err := t.open()
	if err != nil {
		return Report{}, err
	}
	root, err := t.folders()
	if err != nil {
		return Report{}, err
	}
	p, err := t.plan(pkg, root)
	if err != nil {
		return Report{}, err
	}
	if !p.Machine || t.Overlay != "" {
		if err := t.refuse(pkg); err != nil {
			return Report{}, err
		}
	}
	id := t.identity(pkg)
	report := Report{
		Package: pkg.Name, Version: pkg.Version, Name: id.name, Root: root,
		Logs: filepath.Join(id.logDir(), pkg.Name, pkg.Version), State: id.stateDir(),
	}
	if t.Overlay != "" {
		err = t.runOverlay(ctx, p, &report, stdout, stderr)
	} else {
		err = t.runPlain(ctx, p, &report, stdout, stderr)
	}
	return report, err
}

// open reads the package, and refuses it as the agent would, and admission.
func (t *Trial) open() (*packagefile.Package, error) {
	pkg, report, err := packagefile.Open(t.Package)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(report.Err(), t.lineEnds()); err != nil {
		return nil, err
	}
	t.Package, err = absolute(packagefile.FolderOf(t.Package))
	return pkg, err
}

// lineEnds refuses scripts that would run, and do something else than what is
// written there.
func (t *Trial) lineEnds() error {
	report, err := packagefile.CheckLineEnds(t.Package)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(t.ConfigMap)) {
		report.LineEnds(filepath.Join(packagefile.ConfigMapDir, key), t.ConfigMap[key])
	}
	return report.Err()
}

// folders makes the paths absolute, for the child has another working
// directory, and keeps the copy of the package from being copied again.
func (t *Trial) folders() (root string, err error) {
	root, err = absolute(t.Root)
	if err != nil {
		return "", fmt.Errorf("find the root folder: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the root folder %s is no folder", root)
	}
	if t.Overlay == "" && isBelow(root, []string{t.Package}) {
		return "", fmt.Errorf("the root folder %s must not be in the package; name one outside of it", root)
	}
	if t.Overlay == "" {
		return root, nil
	}
	if err := os.MkdirAll(t.Overlay, 0o755); err != nil {
		return "", fmt.Errorf("make the overlay's folder: %w", err)
	}
	if t.Overlay, err = absolute(t.Overlay); err != nil {
		return "", fmt.Errorf("find the overlay's folder: %w", err)
	}
	if isBelow(t.Overlay, []string{t.Package}) {
		// Only what was made just now is empty.
		_ = os.Remove(t.Overlay)
		return "", fmt.Errorf("the overlay's folder %s must not be in the package; name one outside of it", t.Overlay)
	}
	return root, nil
}

func (t Trial) identity(pkg *packagefile.Package) identity {
	return identity{name: cmp.Or(t.Name, SkyhookName(pkg.Name)), version: pkg.Version}
}

func (t Trial) plan(pkg *packagefile.Package, root string) (plan, error) {
	id := t.identity(pkg)
	metadata, err := t.nodeMetadata(id)
	return plan{
		Root: root, Machine: root == "/", Package: t.Package, Name: id.name, Version: id.version, Modes: t.modes(),
		Env: t.Env, ConfigMap: t.ConfigMap, NodeMetadata: metadata,
	}, err
}

func (t Trial) runOverlay(ctx context.Context, p plan, report *Report, stdout, stderr io.Writer) error {
	o, unlock, err := openOverlay(t.Overlay, p.Root)
	if err != nil {
		return err
	}
	defer unlock()
	p.Overlay, p.Root, p.Machine = &o, o.mountPoint(), false
	before, err := o.state()
	if err != nil {
		return err
	}
	if err := p.run(ctx, report, stdout, stderr); err != nil {
		return err
	}
	after, err := o.state()
	if err != nil {
		return err
	}
	report.Kept = o.upper()
	if report.Changes, err = overlayChanges(before, after); err != nil {
		return err
	}
	report.Total, err = overlayChanges(merged{lower: o.Lower}, after)
	report.addSettings()
	return err
}

func overlayChanges(before, after merged) ([]Change, error) {
	paths, err := after.paths(before)
	if err != nil {
		return nil, err
	}
	return compare(paths, before, after), nil
}

func (t Trial) runPlain(ctx context.Context, p plan, report *Report, stdout, stderr io.Writer) error {
	before, err := readTree(p.Root, false)
	if err != nil {
		return err
	}
	if err := p.run(ctx, report, stdout, stderr); err != nil {
		return err
	}
	after, err := readTree(p.Root, false)
	if err != nil {
		return err
	}
	report.Changes = compare(before.paths(after), before, after)
	report.addSettings()
	return nil
}

// run has the child carry out the plan, and adds to the report what it tells.
func (p plan) run(ctx context.Context, report *Report, stdout, stderr io.Writer) error {
	var said told
	stdout, stderr = said.watch(stdout), said.watch(stderr)
	ours, theirs, err := openPipes()
	if err != nil {
		return err
	}
	defer ours.close()
	child := p.child(ctx, stdout, stderr)
	child.ExtraFiles = []*os.File{theirs.plan, theirs.outcome}
	// The kernel watches the thread that started the child, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = child.Start()
	theirs.close()
	if err != nil {
		return explainMount("start a process in namespaces of its own", err)
	}
	sent := p.send(ours.plan)
	heard := report.listen(ours.outcome)
	ended := child.Wait()
	switch {
	case sent != nil || heard != nil:
		return errors.Join(sent, heard)
	case len(report.Runs) == 0:
		return fmt.Errorf("the run was cut off: %w", errors.Join(ended, ctx.Err()))
	}
	report.conclude(p.Modes)
	report.Ignored = said.ignored()
	if !report.Succeeded && !p.Machine {
		report.MayBeTheTrial = said.causes()
	}
	return nil
}

// child is this program again. Should this process be killed, so is the child,
// and with it all other processes of its namespace.
func (p plan) child(ctx context.Context, stdout, stderr io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, InsideMode)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	if !p.Machine {
		// The name of the machine is not a script's to change.
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUTS
	}
	return cmd
}

func (p plan) send(to *os.File) error {
	err := json.NewEncoder(to).Encode(p)
	// The child reads one value, but an error of ours must not leave it waiting.
	return errors.Join(err, to.Close())
}

// listen reads what the child tells, until it has ended.
func (r *Report) listen(from io.Reader) error {
	decoder := json.NewDecoder(from)
	for {
		var o outcome
		switch err := decoder.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("listen to the run: %w", err)
		case o.Error != "":
			return errors.New(o.Error)
		}
		r.settings = append(r.settings, o.Settings...)
		if o.Run != nil {
			r.Runs = append(r.Runs, *o.Run)
		}
	}
}

// pipes are one side's ends of the two pipes between command and child.
type pipes struct{ plan, outcome *os.File }

func openPipes() (ours, theirs pipes, err error) {
	if theirs.plan, ours.plan, err = os.Pipe(); err != nil {
		return ours, theirs, fmt.Errorf("open a pipe: %w", err)
	}
	if ours.outcome, theirs.outcome, err = os.Pipe(); err != nil {
		ours.close()
		theirs.close()
		return ours, theirs, fmt.Errorf("open a pipe: %w", err)
	}
	return ours, theirs, nil
}

func (p pipes) close() {
	for _, file := range []*os.File{p.plan, p.outcome} {
		if file != nil {
			_ = file.Close()
		}
	}
}

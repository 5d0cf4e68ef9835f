package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/state"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// stage is one mode of one package, ready to run.
type stage struct {
	*agent
	mode packagefile.Mode
	pkg  *packagefile.Package
	// previous is the version installed before; only known in upgrade modes.
	previous string
	// namespace is the host's mount namespace if steps are to run in it.
	namespace *os.File
}

// runStage brings package and host together, and runs the mode's steps.
func (a *agent) runStage(ctx context.Context, mode packagefile.Mode) error {
	own, err := a.openContainer()
	if err != nil {
		return err
	}
	defer own.close()
	if err := enterHost(a.RootMount); err != nil {
		return err
	}
	if err := a.prepareHost(own); err != nil {
		return err
	}
	pkg, err := a.loadPackage()
	a.banner(pkg)
	if err != nil {
		return err
	}
	a.home = rootHome()
	s := &stage{agent: a, mode: mode, pkg: pkg}
	if err := s.lock(ctx, filepath.Base(s.own())); err != nil {
		return err
	}
	if err := s.awaitEarlier(ctx, s.own()); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if s.mode.IsUninstall() && s.state().IsUninstalled(pkg) {
		s.say("package %s has been uninstalled from this copy already; no step is run", s.pkg.Name)
	} else if err := s.runSteps(ctx); err != nil {
		return err
	}
	if err := s.conclude(); err != nil {
		return err
	}
	if mode.IsCheck() {
		s.tidy()
	}
	return nil
}

func (s *stage) prepare() error {
	s.warnOfVersion()
	if err := state.UseCopy(s.CopyDir); err != nil {
		return err
	}
	// An agent that was killed may have left it.
	if err := s.state().Release(s.pkg); err != nil {
		return err
	}
	if !s.mode.IsUninstall() {
		if err := s.state().MarkInstalled(s.pkg); err != nil {
			return err
		}
		// The stage itself has just copied them; a check must not repair what
		// it is about to look at.
		if !s.mode.IsCheck() {
			if err := s.copyHostFiles(s.pkg); err != nil {
				return err
			}
		}
		if err := s.requireConfigFiles(s.pkg); err != nil {
			return err
		}
	}
	if s.mode.IsUpgrade() {
		previous, err := s.state().Installed(s.pkg)
		if err != nil {
			return err
		}
		s.previous = previous
	}
	namespace, err := s.openNamespace()
	if err != nil {
		return err
	}
	// It stays open until the process ends.
	s.namespace = namespace
	if err := s.state().Start(); err != nil {
		return err
	}
	if len(s.steps()) == 0 {
		s.warn("package %s has no steps for %s; nothing to do", s.pkg.Name, s.mode)
	}
	return nil
}

// warnOfVersion speaks up if the image's tag and its config.json disagree:
// then flags and history of different releases fall together.
func (s *stage) warnOfVersion() {
	if _, wanted, ok := s.identity(); ok && wanted != s.pkg.Version {
		s.warn("the Skyhook asks for version %s, but the image's %s says %s; build the image with package_version %s",
			wanted, packagefile.ConfigFile, s.pkg.Version, wanted)
	}
}

// own is the directory with the package's own state.
func (s *stage) own() string { return s.state().Own(s.pkg) }

func (s *stage) steps() []packagefile.Step { return s.pkg.Modes[s.mode] }

func (s *stage) runSteps(ctx context.Context) error {
	if s.mode.IsCheck() {
		return s.runChecks(ctx)
	}
	files := s.hostFiles(s.pkg)
	if err := files.Begin(); err != nil {
		return fmt.Errorf("find out who has changed the package's files on the host: %w", err)
	}
	// Also if a step fails: what it has changed is the package's doing.
	defer func() {
		if err := files.Settle(); err != nil {
			s.warn("what the step has made of the package's files on the host could not be noted: %v", err)
		}
	}()
	for _, step := range s.steps() {
		if err := s.runUnlessDone(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) runUnlessDone(ctx context.Context, step packagefile.Step) error {
	if s.skip(step) {
		return nil
	}
	kept, always := s.state(), step.AlwaysRun || s.AlwaysRun
	if s.skips(step) {
		if err := kept.Reserve(s.pkg, step, always, s.now()); err != nil {
			return fmt.Errorf("step %s was not run: there is no room to note that it is done, and it must not run "+
				"twice: %w; "+
				"if the disk is full, free space in %s", title(step), err, s.RootDir)
		}
	}
	err := s.runStep(ctx, step)
	if err == nil {
		err = kept.SetDone(s.pkg, step, always, s.now())
	}
	return errors.Join(err, kept.Release(s.pkg))
}

// skips tells of a step that is to run once only.
func (s *stage) skips(step packagefile.Step) bool {
	return !s.AlwaysRun && !step.AlwaysRun && (s.mode == packagefile.Apply || s.mode == packagefile.PostInterrupt)
}

// skip decides whether a step that has succeeded before is left out.
func (s *stage) skip(step packagefile.Step) bool {
	if !s.state().IsDone(s.pkg, step) {
		return false
	}
	switch {
	case s.AlwaysRun:
		s.warn("step %s has run before, and runs again because of OVERLAY_ALWAYS_RUN_STEP", step.Path)
	case s.mode != packagefile.Apply && s.mode != packagefile.PostInterrupt:
		s.say("step %s has run before, and runs again: steps of %s always do", step.Path, s.mode)
	case step.AlwaysRun:
		s.say("step %s has run before, and runs again: idempotence is true in config.json", step.Path)
	default:
		s.say("Skipping step %s: it has run before, see flag %s", step.Path, s.state().Flag(s.pkg, step))
		return true
	}
	return false
}

// runChecks runs all checks, also after one has failed, to show everything
// that is wrong at once.
func (s *stage) runChecks(ctx context.Context) error {
	var results []state.Check
	var failures []error
	for _, step := range s.steps() {
		err := s.runCheck(ctx, step)
		if errors.Is(err, errStopped) || errors.Is(err, errUnkillable) {
			return err
		}
		results = append(results, state.Check{Path: step.Path, Failed: err != nil})
		if err != nil {
			failures = append(failures, err)
		}
	}
	if len(results) > 0 {
		if err := s.state().RecordChecks(s.pkg, s.mode, results); err != nil {
			return fmt.Errorf("record the checks of %s: %w", s.pkg.Name, err)
		}
	}
	if len(failures) > 1 {
		return &checksError{failures}
	}
	return errors.Join(failures...)
}

// checkPause is the time between two tries of a check.
const checkPause = 500 * time.Millisecond

// runCheck runs one check, again and again while it fails and there is
// patience left: what a stage has begun may need time to settle, and the
// kubelet's own pauses between two tries grow to minutes.
func (s *stage) runCheck(ctx context.Context, step packagefile.Step) error {
	giveUp := s.now().Add(s.CheckPatience)
	for {
		err := s.runStep(ctx, step)
		var failed *stepError
		over := errors.Is(err, errStopped) || errors.Is(err, errUnkillable) || !s.now().Add(checkPause).Before(giveUp)
		if over || !errors.As(err, &failed) {
			return err
		}
		// Else the tries would push out the logs of all other runs.
		if err := failed.logs.Remove(); err != nil {
			s.warn("%v", err)
		}
		s.say("check %s failed; it is retried until it succeeds, or %v have passed", step.Path, s.CheckPatience)
		select {
		case <-ctx.Done():
		case <-time.After(checkPause):
		}
	}
}

// conclude records what the success of a check proves.
func (s *stage) conclude() error {
	switch s.mode {
	case packagefile.ApplyCheck, packagefile.UpgradeCheck:
		return s.state().RecordInstalled(s.pkg, s.pkg.Version, s.now())
	case packagefile.UninstallCheck:
		return s.forget()
	default:
		return nil
	}
}

// tidy removes copies of the package that nothing needs any more. The stage
// has done its work; trouble here is no reason to run it again.
func (s *stage) tidy() {
	if filepath.Dir(s.CopyDir) != filepath.Clean(s.RootDir) || s.packageName() == "" {
		return
	}
	var err error
	if s.mode.IsUninstall() {
		err = s.state().RemoveAllCopies()
	} else {
		err = s.state().RemoveOldCopies(s.pkg)
	}
	if err != nil {
		s.warn("old copies of the package could not be removed: %s", oneLine(err))
	}
}

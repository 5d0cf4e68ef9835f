package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/flags"
	"github.com/skyhook-operator/skyhook/internal/agent/history"
	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// stage is one mode of one package, ready to run.
type stage struct {
	*agent
	mode packagefile.Mode
	pkg  *packagefile.Package
	// previous is the version installed before; only known in upgrade modes.
	previous string
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
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.runSteps(ctx); err != nil {
		return err
	}
	return s.conclude()
}

func (s *stage) prepare() error {
	s.warnOfVersion()
	if !s.mode.IsUninstall() {
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
		previous, err := s.history().Current(s.pkg.Name)
		if err != nil {
			return err
		}
		s.previous = previous
	}
	if err := s.flags().Start(); err != nil {
		return err
	}
	if len(s.steps()) == 0 {
		s.warn("package %s has no steps for %s, nothing to do", s.pkg.Name, s.mode)
	}
	return nil
}

// warnOfVersion speaks up if the image's tag and its config.json disagree:
// then flags and history of different releases fall together.
func (s *stage) warnOfVersion() {
	id := strings.Split(s.ResourceID, "_")
	if wanted := id[len(id)-1]; len(id) == 3 && wanted != s.pkg.Version {
		s.warn("the Skyhook asks for version %s, but the image's %s says %s; build the image with package_version %s",
			wanted, packagefile.ConfigFile, s.pkg.Version, wanted)
	}
}

func (s *stage) steps() []packagefile.Step { return s.pkg.Modes[s.mode] }

func (s *stage) runSteps(ctx context.Context) error {
	if s.mode.IsCheck() {
		return s.runChecks(ctx)
	}
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
	if err := s.runStep(ctx, step); err != nil {
		return err
	}
	return s.flags().Set(s.pkg, step, step.AlwaysRun || s.AlwaysRun, s.now())
}

// skip decides whether a step that has succeeded before is left out.
func (s *stage) skip(step packagefile.Step) bool {
	if !s.flags().IsSet(s.pkg, step) {
		return false
	}
	switch {
	case s.AlwaysRun:
		s.warn("step %s has run before, and runs again because of OVERLAY_ALWAYS_RUN_STEP", step.Path)
	case s.mode != packagefile.Apply && s.mode != packagefile.PostInterrupt:
		s.say("step %s has run before, and runs again: steps of %s always do", step.Path, s.mode)
	case step.AlwaysRun:
		s.say("step %s has run before, and runs again: it takes care of that itself", step.Path)
	default:
		s.say("Skipping step %s: it has run before, see flag %s", step.Path, s.flags().Path(s.pkg, step))
		return true
	}
	return false
}

// runChecks runs all checks, also after one has failed, to show everything
// that is wrong at once.
func (s *stage) runChecks(ctx context.Context) error {
	var results []flags.Check
	var failures []error
	for _, step := range s.steps() {
		err := s.runStep(ctx, step)
		if errors.Is(err, errStopped) {
			return err
		}
		results = append(results, flags.Check{Path: step.Path, Failed: err != nil})
		if err != nil {
			failures = append(failures, err)
		}
	}
	if len(results) > 0 {
		if err := s.recordChecks(results); err != nil {
			return err
		}
	}
	if len(failures) > 1 {
		return &checksError{failures}
	}
	return errors.Join(failures...)
}

// recordChecks writes the results where agents in the field have them, for
// whichever package was checked last, and beside the package's own state.
func (s *stage) recordChecks(results []flags.Check) error {
	for _, dir := range []string{s.flags().Dir, s.stateDir(s.pkg)} {
		if err := flags.RecordChecks(dir, s.mode, results); err != nil {
			return fmt.Errorf("record the checks of %s: %w", s.pkg.Name, err)
		}
	}
	return nil
}

// conclude records what the success of the mode proves.
func (s *stage) conclude() error {
	switch s.mode {
	case packagefile.Uninstall:
		// Not before: its steps may need them.
		return s.removeHostFiles(s.pkg)
	case packagefile.ApplyCheck, packagefile.UpgradeCheck:
		return s.history().Record(s.pkg.Name, s.pkg.Version, s.now())
	case packagefile.UninstallCheck:
		return s.forget()
	}
	return nil
}

// forget leaves nothing on the host that would make a later installation
// differ from the first, but the history.
func (s *stage) forget() error {
	if err := s.flags().ClearPackage(s.pkg); err != nil {
		return fmt.Errorf("forget the steps of %s: %w", s.pkg.Name, err)
	}
	if err := s.history().Record(s.pkg.Name, history.Uninstalled, s.now()); err != nil {
		return err
	}
	return hostfs.RemoveAll(s.stateDir(s.pkg))
}

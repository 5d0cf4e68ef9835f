package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/internal/agent/process"
	"github.com/skyhook-operator/skyhook/internal/agent/state"
	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// agent is one run on a host.
type agent struct {
	Program
	commandLine
	settings
	env environ
	now func() time.Time
	// home is that of the host's root user.
	home string
	// table is that of the processes here; see [agent.openTable].
	table process.Table
	// secrets are those that no output must show.
	secrets steplog.Secrets
	// held is the lock by which the agent has its package for itself.
	held *hostfs.HeldLock
}

var (
	errStopped   = errors.New("stopped by a signal")
	errNoPackage = errors.New("no package")
)

// run decides by mode. An unknown one is not an error, so that an operator
// with more stages than this agent can still use it.
func (a *agent) run(ctx context.Context) error {
	for _, text := range a.badVariables {
		a.warn("%s", text)
	}
	mode := packagefile.Mode(a.Mode)
	if a.Mode != modeInterrupt && !mode.Known() {
		a.warn("mode %q is not supported, nothing to do; supported modes: %s", a.Mode, strings.Join(knownModes(), ", "))
		return nil
	}
	if err := a.validateCall(); err != nil {
		return err
	}
	if a.Mode == modeInterrupt {
		return a.runInterrupt(ctx)
	}
	return a.runStage(ctx, mode)
}

func (a *agent) validateCall() error {
	if err := a.validate(); err != nil {
		return err
	}
	for name, dir := range map[string]string{"SKYHOOK_ROOT_DIR": a.RootDir, "SKYHOOK_LOG_DIR": a.LogDir} {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("%s must be an absolute path on the host, not %q", name, dir)
		}
	}
	return nil
}

// state is what the host keeps for the package.
func (a *agent) state() state.Dir {
	return state.Dir{Path: a.RootDir, Package: a.packageName(), Copy: filepath.Base(a.CopyDir), Warn: a.warn}
}

// packageName is the name that the Skyhook gives the package, or empty.
func (a *agent) packageName() string {
	name, _, ok := a.identity()
	if !ok || !filepath.IsLocal(name) || strings.ContainsAny(name, "/\n") {
		return ""
	}
	return name
}

// identity is what the Skyhook calls the package and its version, by the
// resource id <skyhook>-<uid>-<generation>_<package>_<version>.
func (a *agent) identity() (name, version string, ok bool) {
	id := strings.Split(a.ResourceID, "_")
	if len(id) != 3 {
		return "", "", false
	}
	return id[1], id[2], true
}

func (a *agent) logDir(pkg *packagefile.Package) string {
	return filepath.Join(a.LogDir, pkg.Name, pkg.Version)
}

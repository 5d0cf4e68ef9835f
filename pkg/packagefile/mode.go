package packagefile

import (
	"slices"
	"strings"
)

// Mode names a list of steps in config.json; the agent runs one mode at a time.
type Mode string

// The modes a package can define.
const (
	Uninstall          Mode = "uninstall"
	UninstallCheck     Mode = "uninstall-check"
	Upgrade            Mode = "upgrade"
	UpgradeCheck       Mode = "upgrade-check"
	Apply              Mode = "apply"
	ApplyCheck         Mode = "apply-check"
	Config             Mode = "config"
	ConfigCheck        Mode = "config-check"
	PostInterrupt      Mode = "post-interrupt"
	PostInterruptCheck Mode = "post-interrupt-check"
)

const checkSuffix = "-check"

// modeInterrupt is tolerated in config.json for the sake of older packages.
// No steps are ever run for it: interrupts are declared by the user.
const modeInterrupt Mode = "interrupt"

var modes = []Mode{
	Uninstall, UninstallCheck, Upgrade, UpgradeCheck, Apply, ApplyCheck,
	Config, ConfigCheck, PostInterrupt, PostInterruptCheck,
}

// Modes lists every mode that can have steps, each followed by its check.
func Modes() []Mode { return slices.Clone(modes) }

// ModeNames are the modes for sentences.
func ModeNames() []string {
	names := make([]string, len(modes))
	for i, mode := range modes {
		names[i] = string(mode)
	}
	return names
}

// Known reports whether m is a mode that can have steps.
func (m Mode) Known() bool { return slices.Contains(modes, m) }

// IsCheck reports whether m verifies another mode instead of changing the host.
func (m Mode) IsCheck() bool { return strings.HasSuffix(string(m), checkSuffix) }

// Check is the mode that verifies m. A check is its own check.
func (m Mode) Check() Mode {
	if m.IsCheck() {
		return m
	}
	return m + checkSuffix
}

// IsUninstall reports whether m is uninstall or its check.
func (m Mode) IsUninstall() bool { return m == Uninstall || m == UninstallCheck }

// IsUpgrade reports whether m is upgrade or its check.
func (m Mode) IsUpgrade() bool { return m == Upgrade || m == UpgradeCheck }

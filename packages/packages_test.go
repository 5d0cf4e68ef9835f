// Package packages_test checks what the packages here have in common.
package packages_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// TestPackagesAreValid: each runs one script, always, with a word for the mode.
func TestPackagesAreValid(t *testing.T) {
	for name, want := range map[string]struct {
		version string
		// words are the scripts' argument by mode.
		words map[packagefile.Mode]string
	}{
		"shellscript": {"1.2.0", map[packagefile.Mode]string{
			"apply": "apply", "apply-check": "apply_check", "upgrade": "upgrade", "upgrade-check": "upgrade_check",
			"config": "config", "config-check": "config_check", "post-interrupt": "post_interrupt",
			"post-interrupt-check": "post_interrupt_check", "uninstall": "uninstall", "uninstall-check": "uninstall_check",
		}},
		"tuned": {"1.4.0", map[packagefile.Mode]string{
			"apply": "install", "apply-check": "install-check", "upgrade": "install", "upgrade-check": "install-check",
			"config": "config", "config-check": "config-check", "post-interrupt-check": "post-interrupt-check",
			"uninstall": "uninstall", "uninstall-check": "uninstall-check",
		}},
		"tuning": {"1.3.0", map[packagefile.Mode]string{
			"config": "config", "config-check": "config-check", "post-interrupt-check": "post-interrupt-check",
			"uninstall": "uninstall", "uninstall-check": "uninstall-check",
		}},
	} {
		pkg, report, err := packagefile.Open(name)
		if err != nil || report.Err() != nil || len(report.Warnings) != 0 {
			t.Fatal(name, err, report.Err(), report.Warnings)
		}
		if pkg.Name != name || pkg.Version != want.version {
			t.Errorf("%s: package %s %s", name, pkg.Name, pkg.Version)
		}
		for _, mode := range packagefile.Modes() {
			got, word := pkg.Modes[mode], want.words[mode]
			if word == "" && len(got) == 0 {
				continue
			}
			if len(got) != 1 || got[0].Arguments[0] != word || !got[0].AlwaysRun || !got[0].Accepts(0) || got[0].Accepts(1) {
				t.Errorf("%s, %s: %+v", name, mode, got)
			}
		}
	}
}

package tuned_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func TestPackageIsValid(t *testing.T) {
	pkg, report, err := packagefile.Open(".")
	if err != nil || report.Err() != nil || len(report.Warnings) != 0 {
		t.Fatal(err, report.Err(), report.Warnings)
	}
	if pkg.Name != "tuned" || pkg.Version != "1.3.0" {
		t.Errorf("package %s %s", pkg.Name, pkg.Version)
	}
	steps := map[string]string{
		"apply": "install", "apply-check": "install-check", "upgrade": "install", "upgrade-check": "install-check",
		"config": "config", "config-check": "config-check", "post-interrupt-check": "post-interrupt-check",
		"uninstall": "uninstall", "uninstall-check": "uninstall-check",
	}
	for _, mode := range packagefile.Modes() {
		got := pkg.Modes[mode]
		want := steps[string(mode)]
		if want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Arguments[0] != want || !got[0].AlwaysRun || !got[0].Accepts(0) || got[0].Accepts(1) {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}

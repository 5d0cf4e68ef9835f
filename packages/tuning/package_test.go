package tuning_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func TestPackageIsValid(t *testing.T) {
	t.Parallel()
	pkg, report, err := packagefile.Open(".")
	if err != nil || report.Err() != nil || len(report.Warnings) != 0 {
		t.Fatal(err, report.Err(), report.Warnings)
	}
	if pkg.Name != "tuning" || pkg.Version != "1.2.0" {
		t.Errorf("package %s %s", pkg.Name, pkg.Version)
	}
	modes := []packagefile.Mode{"config", "config-check", "post-interrupt-check", "uninstall", "uninstall-check"}
	for _, mode := range modes {
		steps := pkg.Modes[mode]
		if len(steps) != 1 || steps[0].Arguments[0] != string(mode) || !steps[0].AlwaysRun || !steps[0].Accepts(0) || steps[0].Accepts(1) {
			t.Errorf("%s: %+v", mode, steps)
		}
	}
	if len(pkg.Modes) != len(modes) {
		t.Errorf("other modes: %+v", pkg.Modes)
	}
}

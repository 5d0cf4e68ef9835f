package shellscript_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func TestPackageIsValid(t *testing.T) {
	pkg, report, err := packagefile.Open(".")
	if err != nil || report.Err() != nil || len(report.Warnings) != 0 {
		t.Fatal(err, report.Err(), report.Warnings)
	}
	if pkg.Name != "shellscript" || pkg.Version != "1.2.0" {
		t.Errorf("package %s %s", pkg.Name, pkg.Version)
	}
	for _, mode := range packagefile.Modes() {
		steps := pkg.Modes[mode]
		hook := strings.ReplaceAll(string(mode), "-", "_")
		if len(steps) != 1 || steps[0].Arguments[0] != hook || !steps[0].AlwaysRun || !steps[0].Accepts(0) || steps[0].Accepts(1) {
			t.Errorf("%s: %+v", mode, steps)
		}
	}
}

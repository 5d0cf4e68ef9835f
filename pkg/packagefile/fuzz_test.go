package packagefile_test

import (
	"path/filepath"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// FuzzParse holds what the agent relies on: whatever passes cannot lead out
// of its directories, has steps, and every problem says where it is.
func FuzzParse(f *testing.F) {
	f.Add(config(f))
	f.Add(config(f, firstStep(set("path", "../x"))))
	f.Add(config(f, firstStep(set("returncodes", []any{1e20}))))
	f.Add([]byte(`{"modes":{"apply":[{"path":1e99999}]}}`))
	f.Add([]byte(`{"package_name":"\ud800","modes":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		pkg, report := packagefile.Parse(raw)
		for _, p := range report.Errors {
			if p.File == "" || p.Message == "" || p.Fix == "" {
				t.Errorf("incomplete problem %+v", p)
			}
		}
		if report.Err() != nil {
			return
		}
		if dir := filepath.Join("/flags", pkg.Name, pkg.Version); filepath.Dir(filepath.Dir(dir)) != "/flags" {
			t.Errorf("name %q, version %q lead to %s", pkg.Name, pkg.Version, dir)
		}
		for _, name := range pkg.ExpectedConfigFiles {
			if !filepath.IsLocal(name) {
				t.Errorf("expected file %q leads out", name)
			}
		}
		steps := 0
		for mode, list := range pkg.Modes {
			if !mode.Known() {
				t.Errorf("mode %q", mode)
			}
			for _, step := range list {
				steps++
				if !filepath.IsLocal(step.Path) || len(step.ReturnCodes) == 0 || !step.OnHost {
					t.Errorf("step %+v", step)
				}
			}
		}
		if steps == 0 && len(report.Warnings) == 0 {
			t.Error("no steps")
		}
	})
}

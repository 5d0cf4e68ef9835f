package state

import (
	"path/filepath"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	resultsFile = "check_results"
	allChecked  = "_ALL_CHECKED"
)

// Check is the result of one check step.
type Check struct {
	Path   string
	Failed bool
}

// RecordChecks notes the results of a check mode, and whether all were good:
// where agents in the field have them, for whichever package was checked last,
// and beside the package's own state.
func (d Dir) RecordChecks(pkg *packagefile.Package, mode packagefile.Mode, checks []Check) error {
	for _, dir := range []string{d.flags(), d.Own(pkg)} {
		if err := recordChecks(dir, mode, checks); err != nil {
			return err
		}
	}
	return nil
}

func recordChecks(dir string, mode packagefile.Mode, checks []Check) error {
	lines, failed := make([]string, len(checks)), false
	for i, check := range checks {
		// Hosts in the field store the failure, not the success.
		lines[i] = check.Path + " " + PythonBool(check.Failed)
		failed = failed || check.Failed
	}
	verdict := filepath.Join(dir, string(mode)+allChecked)
	if failed {
		// First: a verdict must not outlive the results it was about.
		if err := hostfs.Remove(verdict); err != nil {
			return err
		}
	}
	results := filepath.Join(dir, resultsFile)
	if err := hostfs.WriteFile(results, []byte(strings.Join(lines, "\n")), 0o644); err != nil || failed {
		return err
	}
	return hostfs.WriteFile(verdict, nil, 0o644)
}

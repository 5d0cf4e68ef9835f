package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	startFile   = "START"
	resultsFile = "check_results"
	allChecked  = "_ALL_CHECKED"

	// maxElement is the longest path element that Linux file systems take.
	maxElement = 255
)

// Store is the directory with the flags of one Skyhook on a host.
type Store struct {
	Dir string
}

// PackageDir holds the flags of one version of a package.
func (s Store) PackageDir(pkg *packagefile.Package) string {
	return filepath.Join(s.Dir, pkg.Name, pkg.Version)
}

// Path is the flag of a step. The marker may contain slashes, and so create
// directories. A name that no file system takes is replaced by its hash.
func (s Store) Path(pkg *packagefile.Package, step packagefile.Step) string {
	name := step.Path + "_" + Marker(step.Arguments, step.ReturnCodes)
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			sum := sha256.Sum256([]byte(name))
			name = "sha256-" + hex.EncodeToString(sum[:])
			break
		}
	}
	return filepath.Join(s.PackageDir(pkg), name)
}

// Start notes that a stage of some package was begun.
func (s Store) Start() error {
	path := filepath.Join(s.Dir, startFile)
	if exists(path) {
		return nil
	}
	return hostfs.WriteFile(path, nil, 0o644)
}

// IsSet reports whether the step has succeeded before.
func (s Store) IsSet(pkg *packagefile.Package, step packagefile.Step) bool {
	return exists(s.Path(pkg, step))
}

// Set notes that the step has succeeded.
func (s Store) Set(pkg *packagefile.Package, step packagefile.Step, alwaysRun bool, now time.Time) error {
	content := fmt.Sprintf("last_run: %s\nstep_always_runs: %s",
		now.UTC().Format("2006-01-02T15:04:05.000000"), pythonBool(alwaysRun))
	return hostfs.WriteFile(s.Path(pkg, step), []byte(content), 0o644)
}

// ClearPackage removes the flags of the package's steps, and all flags of its
// other versions: after an uninstall none of them must be skipped any more.
func (s Store) ClearPackage(pkg *packagefile.Package) error {
	for _, mode := range packagefile.Modes() {
		for _, step := range pkg.Modes[mode] {
			if err := os.Remove(s.Path(pkg, step)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	parent := filepath.Dir(s.PackageDir(pkg))
	versions, err := os.ReadDir(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, version := range versions {
		if version.Name() == pkg.Version {
			continue
		}
		if err := os.RemoveAll(filepath.Join(parent, version.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Check is the result of one check step.
type Check struct {
	Path   string
	Failed bool
}

// RecordChecks writes the results of a check mode, and whether all were good.
func (s Store) RecordChecks(mode packagefile.Mode, checks []Check) error {
	lines, failed := make([]string, len(checks)), false
	for i, check := range checks {
		// Hosts in the field store the failure, not the success.
		lines[i] = check.Path + " " + pythonBool(check.Failed)
		failed = failed || check.Failed
	}
	if err := hostfs.WriteFile(filepath.Join(s.Dir, resultsFile), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return err
	}
	verdict := filepath.Join(s.Dir, string(mode)+allChecked)
	if !failed {
		return hostfs.WriteFile(verdict, nil, 0o644)
	}
	if err := os.Remove(verdict); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

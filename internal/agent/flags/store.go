package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	// Package is the name that the Skyhook gives the package; empty if it is
	// not known. Packages made from one image share the files, and each of
	// them is named in those that it has set.
	Package string
	// Folder is the name of the copy of the package that steps run from.
	Folder string
	// Spare is the file in which [Store.Reserve] keeps a flag; empty for none.
	Spare string
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

// IsSet reports whether the step has succeeded before, for this package.
func (s Store) IsSet(pkg *packagefile.Package, step packagefile.Step) bool {
	flag, found, err := readFlag(s.Path(pkg, step))
	return err == nil && found && flag.countsFor(s.Package)
}

// Reserve takes the room for the flag of a step that is about to run: it could
// not be set on a disk that is full then.
func (s Store) Reserve(pkg *packagefile.Package, step packagefile.Step, alwaysRun bool, now time.Time) error {
	f, err := s.next(s.Path(pkg, step), alwaysRun, now)
	if err == nil {
		err = hostfs.MkdirAll(filepath.Dir(s.Path(pkg, step)))
	}
	if err == nil {
		err = f.write(s.Spare)
	}
	return err
}

// Release gives the room back that a flag does not need any more.
func (s Store) Release() error { return hostfs.Remove(s.Spare) }

// Set notes that the step has succeeded.
func (s Store) Set(pkg *packagefile.Package, step packagefile.Step, alwaysRun bool, now time.Time) error {
	unlock, err := hostfs.Lock(s.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	path := s.Path(pkg, step)
	f, err := s.next(path, alwaysRun, now)
	if err != nil {
		return err
	}
	if err := f.write(path); err != nil {
		return s.useSpare(path, f, err)
	}
	return nil
}

// useSpare makes the reserved flag that of the step if it says the same, but
// for the time.
func (s Store) useSpare(path string, wanted flag, cause error) error {
	if s.Spare == "" {
		return cause
	}
	spare, found, err := readFlag(s.Spare)
	if err != nil || !found || !slices.Equal(spare.claims, wanted.claims) {
		return cause
	}
	if err := os.Rename(s.Spare, path); err != nil {
		return errors.Join(cause, err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	// What cannot be synced is there all the same.
	_ = dir.Sync()
	return nil
}

// next is the flag at path after the step has succeeded.
func (s Store) next(path string, alwaysRun bool, now time.Time) (flag, error) {
	old, _, err := readFlag(path)
	if err != nil {
		return flag{}, err
	}
	return flag{
		lines: []string{
			"last_run: " + now.UTC().Format("2006-01-02T15:04:05.000000"),
			"step_always_runs: " + pythonBool(alwaysRun),
		},
		claims: old.claimedBy(claim{s.Package, s.Folder}),
	}, nil
}

// ClearPackage forgets the package's steps in its present version, and all of
// its other versions: after an uninstall none of them must be skipped any more.
func (s Store) ClearPackage(pkg *packagefile.Package) error {
	unlock, err := hostfs.Lock(s.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	for _, mode := range packagefile.Modes() {
		for _, step := range pkg.Modes[mode] {
			if err := s.release(s.Path(pkg, step)); err != nil {
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
		if err := s.releaseAll(filepath.Join(parent, version.Name())); err != nil {
			return err
		}
	}
	return nil
}

// releaseAll releases every flag below dir, and removes directories that are
// empty then.
func (s Store) releaseAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() {
			err = s.releaseAll(path)
		} else {
			err = s.release(path)
		}
		if err != nil {
			return err
		}
	}
	return hostfs.RemoveEmpty(dir)
}

// release takes the package out of a flag, and removes a flag that nobody is
// left in. One that an older agent set may be anybody's, and goes.
func (s Store) release(path string) error {
	f, found, err := readFlag(path)
	if err != nil || !found {
		return err
	}
	if f.claims = f.released(s.Package); len(f.claims) > 0 {
		return f.write(path)
	}
	return hostfs.Remove(path)
}

// Folders lists, for each step of the package, the copies that it was last run
// from in each version.
func (s Store) Folders(pkg *packagefile.Package) (map[string][]string, error) {
	folders := map[string][]string{}
	dir := filepath.Dir(s.PackageDir(pkg))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, _, err := readFlag(path)
		for _, c := range f.claims {
			if c.name == s.Package && c.folder != "" {
				_, step, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
				folders[step] = append(folders[step], c.folder)
			}
		}
		return err
	})
	return folders, err
}

// Check is the result of one check step.
type Check struct {
	Path   string
	Failed bool
}

// RecordChecks writes the results of a check mode, and whether all were good,
// into a directory: that of all flags, or one of the package's own.
func RecordChecks(dir string, mode packagefile.Mode, checks []Check) error {
	lines, failed := make([]string, len(checks)), false
	for i, check := range checks {
		// Hosts in the field store the failure, not the success.
		lines[i] = check.Path + " " + pythonBool(check.Failed)
		failed = failed || check.Failed
	}
	verdict := filepath.Join(dir, string(mode)+allChecked)
	if failed {
		// First: a verdict must not outlive the results it was about.
		if err := hostfs.Remove(verdict); err != nil {
			return err
		}
	}
	if err := hostfs.WriteFile(filepath.Join(dir, resultsFile), []byte(strings.Join(lines, "\n")), 0o644); err != nil || failed {
		return err
	}
	return hostfs.WriteFile(verdict, nil, 0o644)
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

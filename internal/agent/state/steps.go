package state

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
	startFile = "START"
	// spareFile is room for the flag of a step that runs.
	spareFile = "flag"

	// maxElement is the longest path element that Linux file systems take.
	maxElement = 255
)

func (d Dir) flags() string { return filepath.Join(d.Path, "flags") }

// Flags is the directory with the flags of one version of a package.
func (d Dir) Flags(pkg *packagefile.Package) string {
	return filepath.Join(d.flags(), pkg.Name, pkg.Version)
}

// Flag is the file that says that a step has succeeded. The marker in its name
// may contain slashes, and so create directories. A name that no file system
// takes is replaced by its hash.
func (d Dir) Flag(pkg *packagefile.Package, step packagefile.Step) string {
	name := step.Path + "_" + marker(step)
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			sum := sha256.Sum256([]byte(name))
			name = "sha256-" + hex.EncodeToString(sum[:])
			break
		}
	}
	return filepath.Join(d.Flags(pkg), name)
}

func (d Dir) spare(pkg *packagefile.Package) string { return filepath.Join(d.Own(pkg), spareFile) }

// Start notes that a stage of some package was begun.
func (d Dir) Start() error {
	path := filepath.Join(d.flags(), startFile)
	if exists(path) {
		return nil
	}
	return hostfs.WriteFile(path, nil, 0o644)
}

// IsDone reports whether the step has succeeded before, for this package.
func (d Dir) IsDone(pkg *packagefile.Package, step packagefile.Step) bool {
	f, found, err := readFlag(d.Flag(pkg, step))
	return err == nil && found && f.countsFor(d.Package)
}

// Reserve takes the room for the flag of a step that is about to run: it could
// not be set on a disk that is full then.
func (d Dir) Reserve(pkg *packagefile.Package, step packagefile.Step, alwaysRun bool, now time.Time) error {
	unlock, err := hostfs.Lock(d.flags()) // its file needs room as well
	if err != nil {
		return err
	}
	defer unlock()
	f, err := d.nextFlag(d.Flag(pkg, step), alwaysRun, now)
	if err == nil {
		err = hostfs.MkdirAll(filepath.Dir(d.Flag(pkg, step)))
	}
	if err == nil {
		err = f.write(d.spare(pkg))
	}
	return err
}

// Release gives the room back that a flag does not need any more.
func (d Dir) Release(pkg *packagefile.Package) error { return hostfs.Remove(d.spare(pkg)) }

// SetDone notes that the step has succeeded.
func (d Dir) SetDone(pkg *packagefile.Package, step packagefile.Step, alwaysRun bool, now time.Time) error {
	unlock, err := hostfs.Lock(d.flags())
	if err != nil {
		return err
	}
	defer unlock()
	path := d.Flag(pkg, step)
	f, err := d.nextFlag(path, alwaysRun, now)
	if err != nil {
		return err
	}
	if err := f.write(path); err != nil {
		return useSpare(d.spare(pkg), path, f, err)
	}
	return nil
}

// useSpare makes the reserved flag that of the step if it says the same, but
// for the time.
func useSpare(spare, path string, wanted flag, cause error) error {
	reserved, found, err := readFlag(spare)
	if err != nil || !found || !slices.Equal(reserved.claims, wanted.claims) {
		return cause
	}
	if err := os.Rename(spare, path); err != nil {
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

// nextFlag is the flag at path after the step has succeeded.
func (d Dir) nextFlag(path string, alwaysRun bool, now time.Time) (flag, error) {
	old, _, err := readFlag(path)
	if err != nil {
		return flag{}, err
	}
	return flag{
		lines: []string{
			"last_run: " + now.UTC().Format("2006-01-02T15:04:05.000000"),
			"step_always_runs: " + PythonBool(alwaysRun),
		},
		claims: old.claimedBy(claim{d.Package, d.Copy}),
	}, nil
}

// ForgetSteps forgets the package's steps in its present version, and all of
// its other versions: after an uninstall none of them must be skipped any more.
func (d Dir) ForgetSteps(pkg *packagefile.Package) error {
	unlock, err := hostfs.Lock(d.flags())
	if err != nil {
		return err
	}
	defer unlock()
	for _, mode := range packagefile.Modes() {
		for _, step := range pkg.Modes[mode] {
			if err := d.forgetFlag(d.Flag(pkg, step)); err != nil {
				return err
			}
		}
	}
	parent := filepath.Dir(d.Flags(pkg))
	versions, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, version := range versions {
		if version.Name() == pkg.Version {
			continue
		}
		if err := d.forgetFlags(filepath.Join(parent, version.Name())); err != nil {
			return err
		}
	}
	return nil
}

// forgetFlags forgets every flag below dir, and removes directories that are
// empty then.
func (d Dir) forgetFlags(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() {
			err = d.forgetFlags(path)
		} else {
			err = d.forgetFlag(path)
		}
		if err != nil {
			return err
		}
	}
	return hostfs.RemoveEmpty(dir)
}

// forgetFlag takes the package out of a flag, and removes a flag that nobody is
// left in. One that an older agent set may be anybody's, and goes.
func (d Dir) forgetFlag(path string) error {
	f, found, err := readFlag(path)
	if err != nil || !found {
		return err
	}
	if f.claims = f.released(d.Package); len(f.claims) > 0 {
		return f.write(path)
	}
	return hostfs.Remove(path)
}

// copiesOfSteps lists, for each step of the package, the copies that it was
// last run from in each version.
func (d Dir) copiesOfSteps(pkg *packagefile.Package) (map[string][]string, error) {
	copies := map[string][]string{}
	dir := filepath.Dir(d.Flags(pkg))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, _, err := readFlag(path)
		for _, c := range f.claims {
			if c.name == d.Package && c.copy != "" {
				_, step, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
				copies[step] = append(copies[step], c.copy)
			}
		}
		return err
	})
	return copies, err
}

package packagefile

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Open loads the package at a path on this machine: its folder or the
// config.json in it. Nothing outside the folder is read, whatever symbolic
// links it has. Results are those of [Load].
func Open(name string) (*Package, Report, error) { return within(name, Load) }

// OpenFor is Open for a mode that is about to run: an uninstall is not held up
// by faults of what it does not use. They are warnings then.
func OpenFor(name string, mode Mode) (*Package, Report, error) {
	return within(name, func(fsys fs.FS) (*Package, Report, error) { return loadFor(fsys, mode) })
}

// LintPath is [Lint] for a package at a path, as [Open] takes it.
func LintPath(ctx context.Context, name string) (*Package, Report, error) {
	return within(name, func(fsys fs.FS) (*Package, Report, error) { return Lint(ctx, fsys) })
}

// FolderOf is the folder of a package that is named by it, or by the config.json in it.
func FolderOf(name string) string {
	if filepath.Base(name) == ConfigFile {
		return filepath.Dir(name)
	}
	return name
}

func within(name string, check func(fs.FS) (*Package, Report, error)) (*Package, Report, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, Report{}, fmt.Errorf("find the package: %w", err)
	}
	if !info.IsDir() {
		if filepath.Base(name) != ConfigFile {
			return nil, Report{}, fmt.Errorf("%s is neither a package folder nor its %s", name, ConfigFile)
		}
		name = filepath.Dir(name)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, Report{}, fmt.Errorf("open the package: %w", err)
	}
	defer func() { _ = root.Close() }()
	return check(root.FS())
}

// Describe writes what a package is and does, for people.
func (p *Package) Describe(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "package %s %s\n", Printable(p.Name), Printable(p.Version)); err != nil {
		return err
	}
	for _, name := range p.ExpectedConfigFiles {
		if _, err := fmt.Fprintf(w, "  needs config map key %s\n", Printable(name)); err != nil {
			return err
		}
	}
	for _, mode := range modes {
		for _, step := range p.Modes[mode] {
			if _, err := fmt.Fprintf(w, "  %-20s  %s %q\n", mode, Printable(step.Path), step.Arguments); err != nil {
				return err
			}
		}
	}
	return nil
}

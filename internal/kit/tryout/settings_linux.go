package tryout

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// settingsDir has the settings of the kernel.
const settingsDir = "/proc/sys"

// mountSettings shows a copy of the machine's settings, which can be written:
// what a script sets is seen by those after it, and never by the kernel.
func mountSettings(target string) error {
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := syscall.Mount("settings", target, "tmpfs", flags, "mode=555"); err != nil {
		return err
	}
	machine, err := os.OpenRoot(settingsDir)
	if err != nil {
		return err
	}
	defer machine.Close()
	copied, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer copied.Close()
	return fs.WalkDir(machine.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return nil //nolint:nilerr // An interface of the network may go at any time, and its settings with it.
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return nil //nolint:nilerr // As above.
		case !entry.IsDir():
			content, _ := machine.ReadFile(path) // some can only be written
			if err := copied.WriteFile(path, content, 0o600); err != nil {
				return err
			}
			return copied.Chmod(path, info.Mode().Perm())
		}
		if err := copied.Mkdir(path, info.Mode().Perm()); err != nil {
			return err
		}
		if entry.Name() == "binfmt_misc" { // its content would be mounted now
			return fs.SkipDir
		}
		return nil
	})
}

// readSettings reads the copy. Those that cannot be read are left out.
func readSettings(dir string) map[string]setting {
	found := map[string]setting{}
	copied, err := os.OpenRoot(dir)
	if err != nil {
		return found
	}
	defer copied.Close()
	_ = fs.WalkDir(copied.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // What a script has made of the copy cannot end the trial.
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // As above.
		}
		if content, err := copied.ReadFile(path); err == nil {
			found[filepath.Join(settingsDir, path)] = setting{info.Mode(), string(content)}
		}
		return nil
	})
	return found
}

// tellSettings has the command know which settings a trial has changed.
func (p plan) tellSettings(before map[string]setting, tell func(outcome) error) error {
	if p.Machine {
		return nil
	}
	changes := compareSettings(before, readSettings(settingsDir))
	if len(changes) == 0 {
		return nil
	}
	if err := tell(outcome{Settings: changes}); err != nil {
		return fmt.Errorf("tell the changed settings: %w", err)
	}
	return nil
}

package tryout

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	return filepath.WalkDir(settingsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // An interface of the network may go at any time, and its settings with it.
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // As above.
		}
		copied := filepath.Join(target, strings.TrimPrefix(path, settingsDir))
		switch {
		case path == settingsDir:
			return nil
		case entry.IsDir():
			if err := os.Mkdir(copied, info.Mode().Perm()); err != nil {
				return err
			}
			if entry.Name() == "binfmt_misc" { // its content would be mounted now
				return fs.SkipDir
			}
			return nil
		}
		content, _ := os.ReadFile(path) // some can only be written
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return err
		}
		return os.Chmod(copied, info.Mode().Perm())
	})
}

// readSettings reads the copy. Those that cannot be read are left out.
func readSettings(dir string) map[string]setting {
	found := map[string]setting{}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // What a script has made of the copy cannot end the trial.
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // As above.
		}
		if content, err := os.ReadFile(path); err == nil {
			found[settingsDir+strings.TrimPrefix(path, dir)] = setting{info.Mode(), string(content)}
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

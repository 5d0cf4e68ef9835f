package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/internal/agent/history"
	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/internal/agent/rootdir"
)

// uninstalledFile names the copy that the package was uninstalled from. It is
// what remains of the package's own state, until the package comes back.
func (s *stage) uninstalledFile() string { return filepath.Join(s.stateDir(s.pkg), "uninstalled") }

// isUninstalled reports whether all checks of the uninstall have succeeded
// before: a host that reboots then runs all containers of the pod again, and
// the files that their steps may need are gone.
func (s *stage) isUninstalled() bool {
	raw, err := os.ReadFile(s.uninstalledFile())
	return err == nil && string(raw) == filepath.Base(s.CopyDir)
}

// forget leaves nothing on the host that would make a later installation
// differ from the first, but the history. It begins when nothing of the
// package is to run any more, and can be begun again.
func (s *stage) forget(ctx context.Context) error {
	if err := hostfs.WriteFile(s.uninstalledFile(), []byte(filepath.Base(s.CopyDir)), 0o644); err != nil {
		return err
	}
	if err := s.removeHostFiles(ctx, s.pkg); err != nil {
		return err
	}
	if err := s.flags().ClearPackage(s.pkg); err != nil {
		return fmt.Errorf("forget the steps of %s: %w", s.pkg.Name, err)
	}
	if err := s.history().Record(s.pkg.Name, history.Uninstalled, s.now()); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.stateDir(s.pkg))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the state of %s: %w", s.pkg.Name, err)
	}
	for _, entry := range entries {
		path := filepath.Join(s.stateDir(s.pkg), entry.Name())
		if path == s.uninstalledFile() || entry.Name() == rootdir.KeptDir {
			continue
		}
		var mounted *hostfs.MountedError
		if err := hostfs.RemoveAll(path); errors.As(err, &mounted) {
			// The package itself is gone; this must not hold up its uninstall for ever.
			s.warn("a part of the package's state stays: %v", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

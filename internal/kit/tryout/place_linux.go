package tryout

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// place copies the package to the root folder, as a pod's first container
// does.
func (p plan) place() (identity, error) {
	id := identity{name: p.Name, version: p.Version}
	source, err := os.OpenRoot(p.Package)
	if err != nil {
		return id, fmt.Errorf("open the package: %w", err)
	}
	defer func() { _ = source.Close() }()
	return id, within(p.Root, func() error {
		if id.generation, err = p.generation(id); err != nil {
			return fmt.Errorf("count the generations of the package: %w", err)
		}
		if err := p.copyPackage(source, id.copyDir()); err != nil {
			return fmt.Errorf("copy the package to %s: %w", id.copyDir(), err)
		}
		return nil
	})
}

// generation is that of the last run, or the next if the Skyhook would have
// been edited since: each has a copy of the package of its own, so that keys
// that are gone, and what steps have put beside them, do not show any more.
func (p plan) generation(id identity) (int, error) {
	raw, err := json.Marshal([]any{p.Version, p.ConfigMap, p.Env})
	if err != nil {
		return 0, err
	}
	file, sum := filepath.Join(id.stateDir(), ".generation-"+id.name), fmt.Sprintf("%x", sha256.Sum256(raw))
	last, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var (
		number int
		was    string
	)
	// What cannot be read counts as no run.
	if _, err := fmt.Sscan(string(last), &number, &was); err == nil && was == sum {
		return number, nil
	}
	number++
	if err := os.MkdirAll(id.stateDir(), 0o755); err != nil {
		return 0, err
	}
	return number, hostfs.WriteFile(file, fmt.Appendf(nil, "%d %s\n", number, sum), 0o644)
}

func (p plan) copyPackage(source *os.Root, copyDir string) error {
	configMaps := filepath.Join(copyDir, packagefile.ConfigMapDir)
	metadata := filepath.Join(copyDir, packagefile.MetadataDir)
	if err := os.MkdirAll(copyDir, 0o755); err != nil {
		return err
	}
	if err := clearMount(configMaps); err != nil {
		return err
	}
	if err := hostfs.RemoveAll(metadata); err != nil {
		return err
	}
	if err := hostfs.CopyTree(source, copyDir); err != nil {
		return err
	}
	if err := writeMount(metadata, p.NodeMetadata); err != nil {
		return err
	}
	if len(p.ConfigMap) == 0 {
		return nil
	}
	return writeMount(configMaps, p.ConfigMap)
}

// A ConfigMap that is mounted has its files in a folder of their time, a link
// to that folder, and links through that link.
const (
	dataLink   = "..data"
	dataFolder = "..2026_01_01_00_00_00.000000001"
)

// clearMount removes what an earlier copy left, except the files of steps, as a
// pod does: of keys that are gone, the package's own files show again.
func clearMount(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "..[0-9]*"))
	if err != nil {
		return err
	}
	for _, path := range append(found, filepath.Join(dir, dataLink)) {
		if err := hostfs.RemoveAll(path); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := hostfs.Remove(path); err != nil {
			return err
		}
	}
	return err
}

func writeMount(dir string, files map[string][]byte) error {
	data := filepath.Join(dir, dataFolder)
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(dataFolder, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o644); err != nil {
			return err
		}
		link := filepath.Join(dir, name)
		if err := hostfs.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(dataLink, name), link); err != nil {
			return err
		}
	}
	return nil
}

// within calls work with another root directory, so that no link in there
// leads out of it, and comes back.
func within(root string, work func() error) error {
	outside, err := os.Open("/")
	if err != nil {
		return err
	}
	defer func() { _ = outside.Close() }()
	if err := syscall.Chroot(root); err != nil {
		return fmt.Errorf("enter %s: %w", root, err)
	}
	err = os.Chdir("/")
	if err == nil {
		err = work()
	}
	if back := outside.Chdir(); back != nil {
		return fmt.Errorf("leave %s: %w", root, back)
	}
	if back := syscall.Chroot("."); back != nil {
		return fmt.Errorf("leave %s: %w", root, back)
	}
	return err
}

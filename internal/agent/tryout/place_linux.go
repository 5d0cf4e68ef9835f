package tryout

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// place copies the package to the root folder, as a pod's first container
// does.
func (p plan) place() error {
	source, err := os.OpenRoot(p.Package)
	if err != nil {
		return fmt.Errorf("open the package: %w", err)
	}
	defer func() { _ = source.Close() }()
	return within(p.Root, func() error {
		if err := p.copyPackage(source); err != nil {
			return fmt.Errorf("copy the package to %s: %w", p.CopyDir, err)
		}
		return nil
	})
}

func (p plan) copyPackage(source *os.Root) error {
	configMaps, metadata := filepath.Join(p.CopyDir, packagefile.ConfigMapDir), filepath.Join(p.CopyDir, packagefile.MetadataDir)
	if err := os.MkdirAll(p.CopyDir, 0o755); err != nil {
		return err
	}
	if err := clearMount(configMaps); err != nil {
		return err
	}
	if err := hostfs.RemoveAll(metadata); err != nil {
		return err
	}
	if err := hostfs.CopyTree(source, p.CopyDir); err != nil {
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

// clearMount removes what an earlier copy left, except links and the files of
// steps, as a pod does.
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
	return nil
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

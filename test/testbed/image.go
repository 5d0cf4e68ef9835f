//go:build linux

package testbed

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// registryTag translates an image name as manifests use it to where the testbed's registry at addr keeps it: hosts do
// not matter, and names without one are Docker Hub's, as everywhere.
func registryTag(addr, called string) (name.Tag, error) {
	tag, err := name.NewTag(called)
	if err != nil {
		return name.Tag{}, fmt.Errorf("image name %q: %w", called, err)
	}
	return name.NewTag(addr+"/"+tag.RepositoryStr()+":"+tag.TagStr(), name.Insecure)
}

func push(ctx context.Context, addr string, t remote.Taggable, names []string) error {
	for _, n := range names {
		tag, err := registryTag(addr, n)
		if err != nil {
			return err
		}
		if err := remote.Push(tag, t, remote.WithContext(ctx)); err != nil {
			return fmt.Errorf("push %s: %w", n, err)
		}
	}
	return nil
}

// load pushes every image of a docker archive or of an OCI layout, be it a folder or a tarball of one, under its own
// names and under further ones, and returns all names.
func load(ctx context.Context, addr, file string, further []string) ([]string, error) {
	var all []string
	pushStored := func(s image.Stored) error {
		// A mere tag names no image.
		own := slices.DeleteFunc(s.Names, func(n string) bool { return !strings.ContainsAny(n, "/:") })
		names := slices.Concat(own, further)
		if len(names) == 0 {
			return fmt.Errorf("%s has an image without a name: give one with --as", file)
		}
		all = append(all, names...)
		if s.Index != nil {
			return push(ctx, addr, s.Index, names)
		}
		return push(ctx, addr, s.Image, names)
	}
	archive, err := isDockerArchive(file)
	if err != nil {
		return nil, err
	}
	if archive {
		err = image.ReadArchive(ctx, file, pushStored)
		return all, err
	}
	dir, cleanup, err := layoutDir(file)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	if !image.IsLayout(dir) {
		return nil, fmt.Errorf("read %s: it is neither a docker archive nor an OCI layout", file)
	}
	err = image.ReadLayout(dir, pushStored)
	return all, err
}

func isDockerArchive(file string) (bool, error) {
	info, err := os.Stat(file)
	if err != nil || info.IsDir() {
		return false, err
	}
	found := false
	err = eachTarEntry(file, func(h *tar.Header, _ io.Reader) error {
		found = found || filepath.Clean(h.Name) == "manifest.json"
		return nil
	})
	return found, err
}

// layoutDir unpacks a tarball; a folder is used as it is.
func layoutDir(file string) (dir string, cleanup func(), err error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", nil, err
	}
	if info.IsDir() {
		return file, func() {}, nil
	}
	if dir, err = os.MkdirTemp("", "testbed-layout-"); err != nil {
		return "", nil, err
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	err = eachTarEntry(file, func(h *tar.Header, r io.Reader) error { return unpack(dir, h, r) })
	if err != nil {
		cleanup()
	}
	return dir, cleanup, err
}

func unpack(dir string, h *tar.Header, r io.Reader) error {
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if !filepath.IsLocal(h.Name) {
		return fmt.Errorf("entry %q leaves the archive", h.Name)
	}
	dst := filepath.Join(dir, h.Name)
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	f, err := os.Create(dst)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func eachTarEntry(file string, visit func(*tar.Header, io.Reader) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer closeQuietly(f)
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(h, r)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
}

// ProgramImage makes an image from scratch of static programs, for tests and for the pod's pause process. Keys are
// paths in the image ("bin/busybox"), values files on this machine; entrypoint is the image's.
func ProgramImage(files map[string]string, entrypoint ...string) (v1.Image, error) {
	content := image.Tree{"tmp": image.Folder(0o1777)}
	for dst, src := range files {
		b, err := os.ReadFile(src)
		if err != nil {
			return nil, err
		}
		content[dst] = image.Program(b)
	}
	layer, err := content.Layer()
	if err != nil {
		return nil, err
	}
	config := v1.Config{Entrypoint: entrypoint, Env: []string{"PATH=" + nodePath}}
	return image.New(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, config, layer)
}

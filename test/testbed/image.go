//go:build linux

package testbed

import (
	"archive/tar"
	"bytes"
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
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Annotations by which an OCI layout names its images.
const (
	annotationImageName = "io.containerd.image.name"
	annotationRefName   = "org.opencontainers.image.ref.name"
)

// registryTag translates an image name as manifests use it to where the testbed's registry at addr keeps it: hosts do not
// matter, and names without one are Docker Hub's, as everywhere.
func registryTag(addr, image string) (name.Tag, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return name.Tag{}, fmt.Errorf("image name %q: %w", image, err)
	}
	return name.NewTag(addr+"/"+tag.RepositoryStr()+":"+tag.TagStr(), name.Insecure)
}

func push(ctx context.Context, addr string, t remote.Taggable, names []string) error {
	for _, n := range names {
		tag, err := registryTag(addr, n)
		if err != nil {
			return err
		}
		switch image := t.(type) {
		case v1.ImageIndex:
			err = remote.WriteIndex(tag, image, remote.WithContext(ctx))
		case v1.Image:
			err = remote.Write(tag, image, remote.WithContext(ctx))
		}
		if err != nil {
			return fmt.Errorf("push %s: %w", n, err)
		}
	}
	return nil
}

// load pushes every image of a tarball under its own names and under further ones, and returns all names.
func load(ctx context.Context, addr, file string, further []string) ([]string, error) {
	archive, err := isDockerArchive(file)
	if err != nil {
		return nil, err
	}
	if archive {
		return loadDockerArchive(ctx, addr, file, further)
	}
	return loadLayout(ctx, addr, file, further)
}

func loadDockerArchive(ctx context.Context, addr, file string, further []string) ([]string, error) {
	opener := func() (io.ReadCloser, error) { return os.Open(file) }
	manifest, err := tarball.LoadManifest(opener)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var all []string
	for _, d := range manifest {
		names := slices.Concat(d.RepoTags, further)
		image, err := imageOf(opener, d.RepoTags)
		if err == nil {
			err = pushNamed(ctx, addr, file, image, names)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// imageOf picks one image of an archive; one without a name can only be alone.
func imageOf(opener tarball.Opener, tags []string) (v1.Image, error) {
	if len(tags) == 0 {
		return tarball.Image(opener, nil)
	}
	tag, err := name.NewTag(tags[0])
	if err != nil {
		return nil, err
	}
	return tarball.Image(opener, &tag)
}

func pushNamed(ctx context.Context, addr, file string, t remote.Taggable, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%s has an image without a name: give one with --as", file)
	}
	return push(ctx, addr, t, names)
}

// loadLayout pushes the images of an OCI layout: a folder, or a tarball of one.
func loadLayout(ctx context.Context, addr, file string, further []string) ([]string, error) {
	dir, cleanup, err := layoutDir(file)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: it is neither a docker archive nor an OCI layout: %w", file, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range manifest.Manifests {
		names := slices.Concat(layoutNames(d.Annotations), further)
		t, err := layoutImage(index, d)
		if err == nil {
			err = pushNamed(ctx, addr, file, t, names)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

func layoutImage(index v1.ImageIndex, d v1.Descriptor) (remote.Taggable, error) {
	if d.MediaType.IsIndex() {
		return index.ImageIndex(d.Digest)
	}
	return index.Image(d.Digest)
}

// layoutNames returns the full name an image in a layout has. A mere tag names no image.
func layoutNames(annotations map[string]string) []string {
	for _, a := range []string{annotationImageName, annotationRefName} {
		if n := annotations[a]; strings.Contains(n, "/") {
			return []string{n}
		}
	}
	return nil
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

// ProgramImage makes an image from scratch of static programs, for tests and for the pod's pause process. Keys are paths
// in the image ("bin/busybox"), values files on this machine; entrypoint is the image's.
func ProgramImage(files map[string]string, entrypoint ...string) (v1.Image, error) {
	content := map[string][]byte{}
	for dst, src := range files {
		b, err := os.ReadFile(src)
		if err != nil {
			return nil, err
		}
		content[dst] = b
	}
	layer, err := programLayer(content)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	cf, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture = "linux", runtime.GOARCH
	cf.Config = v1.Config{Entrypoint: entrypoint, Env: []string{"PATH=" + nodePath}}
	return mutate.ConfigFile(image, cf)
}

func programLayer(content map[string][]byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}); err != nil {
		return nil, err
	}
	for dst, c := range content {
		if err := w.WriteHeader(&tar.Header{Name: dst, Typeflag: tar.TypeReg, Size: int64(len(c)), Mode: 0o755}); err != nil {
			return nil, err
		}
		if _, err := w.Write(c); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}

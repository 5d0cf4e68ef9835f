//go:build linux

package testbed

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func extract(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	rc := mutate.Extract(image)
	defer closeQuietly(rc)
	headers := map[string]*tar.Header{}
	for r := tar.NewReader(rc); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
	}
}

// dockerArchive writes an archive of images by tag; an empty tag means no name.
func dockerArchive(t *testing.T, images map[string]v1.Image) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	refs := map[name.Reference]v1.Image{}
	for tag, image := range images {
		var ref name.Reference
		ref, err := name.NewTag(tag)
		if tag == "" {
			ref, err = name.NewDigest("x@sha256:" + strings.Repeat("0", 64))
		}
		if err != nil {
			t.Fatal(err)
		}
		refs[ref] = image
	}
	if err := tarball.MultiRefWriteToFile(file, refs); err != nil {
		t.Fatal(err)
	}
	return file
}

const refName = "org.opencontainers.image.ref.name"

// ociLayout writes a folder with an index of two images under one name, and one image without a name.
func ociLayout(t *testing.T, annotation, indexName string, more ...v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	p := must(layout.Write(dir, empty.Index))(t)
	index := must(random.Index(256, 1, 2))(t)
	if err := p.AppendIndex(index, layout.WithAnnotations(map[string]string{annotation: indexName})); err != nil {
		t.Fatal(err)
	}
	for _, image := range more {
		if err := p.AppendImage(image); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tarOf(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "layout.tar")
	f := must(os.Create(file))(t)
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoadDockerArchive(t *testing.T) {
	addr := serveTestRegistry(t, t.TempDir())
	file := dockerArchive(t, map[string]v1.Image{"ghcr.io/x/a:1": randomImage(t), "ghcr.io/x/b:2": randomImage(t)})
	names := must(load(t.Context(), addr, file, nil))(t)
	slices.Sort(names)
	if !slices.Equal(names, []string{"ghcr.io/x/a:1", "ghcr.io/x/b:2"}) {
		t.Errorf("names %v", names)
	}
	a, errA := pull(t, addr, "x/a:1")
	b, errB := pull(t, addr, "x/b:2")
	if errA != nil || errB != nil || a == b {
		t.Errorf("a %v %v, b %v %v", a, errA, b, errB)
	}
}

func TestLoadUnderFurtherNames(t *testing.T) {
	addr := serveTestRegistry(t, t.TempDir())
	file := dockerArchive(t, map[string]v1.Image{"local/a:dev": randomImage(t)})
	if _, err := load(t.Context(), addr, file, []string{"ghcr.io/y/z:1.0", "quay.io/q:2"}); err != nil {
		t.Fatal(err)
	}
	want := must(pull(t, addr, "local/a:dev"))(t)
	for _, ref := range []string{"y/z:1.0", "q:2"} {
		if got, err := pull(t, addr, ref); err != nil || got != want {
			t.Errorf("%s: %v, %v", ref, got, err)
		}
	}
}

func TestLoadNeedsAName(t *testing.T) {
	addr := serveTestRegistry(t, t.TempDir())
	file := dockerArchive(t, map[string]v1.Image{"": randomImage(t)})
	if _, err := load(t.Context(), addr, file, nil); err == nil || !strings.Contains(err.Error(), "--as") {
		t.Errorf("without a name: %v", err)
	}
	if _, err := load(t.Context(), addr, file, []string{"given:1"}); err != nil {
		t.Error(err)
	}
	if _, err := pull(t, addr, "library/given:1"); err != nil {
		t.Error(err)
	}
}

func TestLoadLayout(t *testing.T) {
	for _, annotation := range []string{"io.containerd.image.name", refName} {
		dir := ociLayout(t, annotation, "ghcr.io/x/multi:3")
		for kind, file := range map[string]string{"folder": dir, "tarball": tarOf(t, dir)} {
			t.Run(annotation+" "+kind, func(t *testing.T) {
				addr := serveTestRegistry(t, t.TempDir())
				names, err := load(t.Context(), addr, file, []string{"other/name:3"})
				if err != nil || !slices.Equal(names, []string{"ghcr.io/x/multi:3", "other/name:3"}) {
					t.Fatalf("%v, %v", names, err)
				}
			})
		}
	}
}

func TestLoadLayoutErrors(t *testing.T) {
	addr := serveTestRegistry(t, t.TempDir())
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("this is no archive at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := tarOf(t, t.TempDir())
	for what, tt := range map[string]struct{ file, want string }{
		"an image without a name": {ociLayout(t, refName, "ghcr.io/x/a:1", randomImage(t)), "--as"},
		"only a tag as name":      {ociLayout(t, refName, "1.0"), "--as"},
		"no archive":              {text, text},
		"another archive":         {other, "neither a docker archive nor an OCI layout"},
		"no file":                 {text + ".none", "no such file"},
	} {
		if _, err := load(t.Context(), addr, tt.file, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want %q in the error, got %v", what, tt.want, err)
		}
	}
}

func TestUnpackStaysInside(t *testing.T) {
	dir := t.TempDir()
	err := unpack(filepath.Join(dir, "in"), &tar.Header{Name: "../out", Typeflag: tar.TypeReg}, strings.NewReader("x"))
	if err == nil {
		t.Error("an entry left the archive")
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("it was written")
	}
}

// must ends a test that cannot go on without a value: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

package image_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// FuzzLint: whatever a layer holds, nothing is written but what is removed
// again, and nothing outside.
func FuzzLint(f *testing.F) {
	for _, e := range []entry{
		file("skyhook-package/../../x", "x", 0o644), symlink("skyhook-package/a", "/"), file("skyhook-package/a/b", "x", 0o644),
		link(tar.TypeLink, "skyhook-package/c", "../../../etc/passwd"), gone(".wh.."), gone("skyhook-package/.wh..wh..opq"), gone(".wh."),
		symlink("bin", "../.."), script("bin/sh"),
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		if err := w.WriteHeader(&e.Header); err != nil {
			f.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Bytes(), archive.Bytes())
	}
	around := f.TempDir()
	f.Setenv("TMPDIR", filepath.Join(around, "tmp"))
	if err := os.Mkdir(os.TempDir(), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		img := build(t, amd64, label, base(t))
		for _, raw := range [][]byte{lower, upper} {
			l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil })
			if err != nil {
				return
			}
			layers, err := img.Layers()
			must(t, err)
			img = build(t, amd64, label, append(layers, l)...)
		}
		found, err := image.FromIndex(reference, index(t, img))
		must(t, err)
		_, report, err := found.Lint(t.Context())
		if err == nil && len(report.Errors) == 0 {
			t.Error("there is no package, yet nothing is wrong with it")
		}
		for _, dir := range []string{around, os.TempDir()} {
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 && dir == around || len(left) != 0 && dir != around {
				t.Errorf("left in %s: %v, error %v", dir, left, err)
			}
		}
	})
}

package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// named is how layouts call an image.
func named(reference string) layout.Option {
	return layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": reference})
}

func newLayout(t *testing.T, fill func(layout.Path) error) string {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err == nil {
		err = fill(path)
	}
	must(t, err)
	return dir
}

func TestFromLayout(t *testing.T) {
	both := index(t, good(t, amd64), good(t, arm64))
	tests := map[string]struct {
		fill           func(layout.Path) error
		errors, warned string
	}{
		"an index with its reference": {func(p layout.Path) error { return p.AppendIndex(both, named(reference)) }, "", ""},
		"an index with its tag":       {func(p layout.Path) error { return p.AppendIndex(both, named("1.2.3")) }, "", ""},
		"an index without a name":     {func(p layout.Path) error { return p.AppendIndex(both) }, "", ""},
		"a wrong tag":                 {func(p layout.Path) error { return p.AppendIndex(both, named("1.2.4")) }, `the tag of the image is "1.2.4"`, ""},
		"a wrong reference":           {func(p layout.Path) error { return p.AppendIndex(both, named("a/b:1.2.4")) }, `the tag of the image is "1.2.4"`, ""},
		"one image":                   {func(p layout.Path) error { return p.AppendImage(good(t, amd64), named(reference)) }, "", "no image for linux/arm64"},
		"an index in an index": {func(p layout.Path) error {
			return p.AppendIndex(mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: both}), named(reference))
		}, "", ""},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			dir := newLayout(t, test.fill)
			if !image.IsLayout(dir) {
				t.Error("it is no layout")
			}
			found, err := image.FromLayout(t.Context(), dir)
			must(t, err)
			pkg, report, err := found.Lint(t.Context())
			if err != nil || pkg == nil {
				t.Fatalf("package %v, error %v", pkg, err)
			}
			expect(t, report.Errors, "config.json", test.errors, "tag it 1.2.3")
			if test.warned == "" != (len(report.Warnings) == 0) || test.warned != "" && !strings.Contains(report.Warnings[0].Message, test.warned) {
				t.Errorf("warnings %+v", report.Warnings)
			}
		})
	}
}

func TestFromLayout_Refuses(t *testing.T) {
	empty1 := newLayout(t, func(layout.Path) error { return nil })
	damaged := newLayout(t, func(p layout.Path) error { return p.AppendImage(good(t, amd64)) })
	must(t, os.RemoveAll(filepath.Join(damaged, "blobs")))
	deep := newLayout(t, func(p layout.Path) error {
		inner := index(t, good(t, amd64))
		for range 5 {
			inner = mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: inner})
		}
		return p.AppendIndex(inner)
	})
	pipe, huge := newLayout(t, func(layout.Path) error { return nil }), newLayout(t, func(layout.Path) error { return nil })
	if err := errors.Join(os.Remove(filepath.Join(pipe, "index.json")), syscall.Mkfifo(filepath.Join(pipe, "index.json"), 0o644),
		os.Truncate(filepath.Join(huge, "index.json"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		pipe: "index.json is no file", huge: "of at most 4194304 bytes",
		empty1: "holds no image for linux", damaged: "no such file", deep: "nested too deeply", t.TempDir(): "index.json",
	} {
		if _, err := image.FromLayout(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "OCI layout "+dir) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if image.IsLayout(t.TempDir()) {
		t.Error("an empty folder is a layout")
	}
}

func newArchive(t *testing.T, images map[name.Tag]v1.Image) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	must(t, tarball.MultiWriteToFile(file, images))
	return file
}

func tag(t *testing.T, text string) name.Tag {
	t.Helper()
	result, err := name.NewTag(text)
	must(t, err)
	return result
}

func TestFromArchive(t *testing.T) {
	bad := build(t, amd64, label, base(t), layer(t, files(strings.Replace(configJSON, "true", "1", 1))...))
	tests := map[string]struct {
		images map[name.Tag]v1.Image
		want   string
	}{
		"one":                {map[name.Tag]v1.Image{tag(t, reference): good(t, amd64)}, ""},
		"a wrong tag":        {map[name.Tag]v1.Image{tag(t, "tuning:1.2.4"): good(t, amd64)}, `the tag of the image is "1.2.4"`},
		"latest beside it":   {map[name.Tag]v1.Image{tag(t, "tuning"): good(t, amd64), tag(t, reference): good(t, amd64)}, `the tag of the image is "latest"`},
		"the second is bad":  {map[name.Tag]v1.Image{tag(t, reference): good(t, arm64), tag(t, "a:1.2.3"): bad}, "is a JSON number"},
		"for another system": {map[name.Tag]v1.Image{tag(t, reference): good(t, arm64)}, ""},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			found, err := image.FromArchive(t.Context(), newArchive(t, test.images))
			must(t, err)
			_, report, err := found.Lint(t.Context())
			if err != nil || len(report.Warnings) != 0 {
				t.Errorf("report %+v, error %v", report, err)
			}
			if test.want == "" != (len(report.Errors) == 0) || test.want != "" && !strings.Contains(report.Err().Error(), test.want) {
				t.Errorf("errors %+v", report.Errors)
			}
		})
	}
}

func TestFromArchive_WithoutATag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	digest, err := name.NewDigest("x@sha256:" + strings.Repeat("a", 64))
	must(t, err)
	must(t, tarball.WriteToFile(file, digest, good(t, amd64)))
	found, err := image.FromArchive(t.Context(), file)
	must(t, err)
	if _, report, err := found.Lint(t.Context()); err != nil || len(report.Errors)+len(report.Warnings) != 0 {
		t.Errorf("report %+v, error %v", report, err)
	}
}

func TestFromArchive_Refuses(t *testing.T) {
	noArchive := filepath.Join(t.TempDir(), "x.tar")
	must(t, os.WriteFile(noArchive, []byte("hello"), 0o644))
	windows := newArchive(t, map[name.Tag]v1.Image{tag(t, reference): build(t, v1.Platform{OS: "windows", Architecture: "amd64"}, nil)})
	for file, want := range map[string]string{
		noArchive: "is not a docker archive", windows: "holds no image for linux", filepath.Join(t.TempDir(), "none"): "no such file",
	} {
		if _, err := image.FromArchive(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), file) != 1 {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

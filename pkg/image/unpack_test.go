//go:build integration

package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

const steps = "skyhook-package/skyhook_dir/"

// TestLint_Layers: what counts is the file system that the layers make together.
func TestLint_Layers(t *testing.T) {
	bad := file(steps+"bad.sh", "#!/bin/sh\r\n", 0o755)
	tests := map[string]struct {
		upper              []entry
		file, message, fix string
	}{
		"nothing more":                      {nil, "", "", ""},
		"names that begin with a dot":       {[]entry{script("./" + steps + "more.sh")}, "", "", ""},
		"a bad script":                      {[]entry{bad}, "skyhook_dir/bad.sh", "CR and LF", "LF"},
		"replaced by a bad one":             {[]entry{file(steps+"run.sh", "echo", 0o755)}, "skyhook_dir/run.sh", "#!", "#!/bin/bash"},
		"a folder nobody may read":          {[]entry{{Header: tar.Header{Typeflag: tar.TypeDir, Name: steps, Mode: 0}}}, "", "", ""},
		"a script taken away":               {[]entry{gone(steps + ".wh.run.sh")}, "config.json", "run.sh does not exist", "add"},
		"a script taken away and back":      {[]entry{gone(steps + ".wh.run.sh"), script(steps + "run.sh")}, "", "", ""},
		"its folder emptied, then refilled": {[]entry{gone(steps + ".wh..wh..opq"), script(steps + "run.sh"), script(steps + "run_check.sh")}, "", "", ""},
		"its folder refilled, then emptied": {[]entry{script(steps + "run.sh"), script(steps + "run_check.sh"), gone(steps + ".wh..wh..opq")}, "", "", ""},
		"its folder emptied of one":         {[]entry{gone(steps + ".wh..wh..opq"), script(steps + "run.sh")}, "config.json", "run_check.sh does not exist", "add"},
		"all taken away":                    {[]entry{gone(".wh.skyhook-package")}, "/skyhook-package", "not a folder", "COPY"},
		"all taken away, by its parent":     {[]entry{gone("skyhook-package/.wh..wh..opq")}, "config.json", "does not exist", "add"},
		"a link instead":                    {[]entry{symlink("skyhook-package", "/opt/package")}, "/skyhook-package", "not a folder", "COPY"},
		"what was never there taken away":   {[]entry{gone("opt/x/.wh.y"), gone("opt/.wh..wh..opq"), gone(steps + "a/b/.wh.c")}, "", "", ""},
		"hard link in the package":          {[]entry{link(tar.TypeLink, steps+"again.sh", steps+"run.sh")}, "", "", ""},
		"hard link out of it":               {[]entry{link(tar.TypeLink, steps+"sh", "bin/busybox")}, "skyhook_dir/sh", "hard link to /bin/busybox", "copy"},
		"the same, replaced in time":        {[]entry{link(tar.TypeLink, steps+"x.sh", "bin/busybox"), script(steps + "x.sh")}, "", "", ""},
		"the same, emptied in time":         {[]entry{link(tar.TypeLink, steps+"x.sh", "bin/busybox"), gone(steps + ".wh.x.sh")}, "", "", ""},
		"link out of the package":           {[]entry{symlink(steps+"x", "../../etc")}, "skyhook_dir/x", "out of the package", "copy"},
		"link out of the image":             {[]entry{symlink(steps+"x", "../../../../../etc")}, "skyhook_dir/x", "out of the package", "copy"},
		"a pipe":                            {[]entry{{Header: tar.Header{Typeflag: tar.TypeFifo, Name: steps + "p"}}}, "skyhook_dir/p", "named pipe", "remove"},
		"a device":                          {[]entry{{Header: tar.Header{Typeflag: tar.TypeChar, Name: "skyhook-package/root_dir/dev/null"}}}, "root_dir/dev/null", "device", "remove"},
		"a name that climbs":                {[]entry{file("skyhook-package/../../../../../tmp/skyhook-climbs", "x", 0o644)}, "", "", ""},
		"a name that climbs back":           {[]entry{file("../../"+steps+"bad.sh", "#!/bin/sh\r\n", 0o755)}, "skyhook_dir/bad.sh", "CR and LF", "LF"},
		"a folder where a file was":         {[]entry{gone(steps + ".wh.run.sh"), folder(steps + "run.sh/")}, "config.json", "not a regular file", "script"},
		"a folder where a script is":        {[]entry{folder(steps + "run.sh/")}, "config.json", "not a regular file", "script"},
		"folders without end":               {[]entry{script("skyhook-package/root_dir/" + strings.Repeat("a/", 400_000) + "b")}, "root_dir/" + strings.Repeat("a/", 45) + "a…", "a name of", "4096"},
		"as many as a name can have":        {[]entry{folder("skyhook-package/root_dir/" + strings.Repeat("a/", 1000))}, "root_dir/" + strings.Repeat("a/", 45) + "a…", "more than 64 folders", "up in the package"},
		"a name that no disk keeps":         {[]entry{script(steps + strings.Repeat("a", 300))}, "skyhook_dir/" + strings.Repeat("a", 88) + "…", "300 bytes", "255"},
		"a link to a name without end":      {[]entry{symlink(steps+"x", strings.Repeat("a/", 4000))}, "skyhook_dir/x", "8000 bytes", "shorten"},
		"a name without end, taken away":    {[]entry{gone(steps + strings.Repeat("a/", 4000) + ".wh.x")}, "", "", ""},
		"a global header":                   {[]entry{{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax", PAXRecords: map[string]string{"comment": "x"}}}}, "", "", ""},
		"a file where a folder was":         {[]entry{file("skyhook-package/skyhook_dir", "x", 0o644)}, "", "", "many"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := lint(t, reference, label, base(t), layer(t, files(configJSON)...), layer(t, test.upper...))
			if test.fix == "many" {
				if len(report.Errors) != 3 {
					t.Errorf("want both scripts and the folder: %+v", report.Errors)
				}
				return
			}
			expect(t, report.Errors, test.file, test.message, test.fix)
		})
	}
	if _, err := os.Lstat("/tmp/skyhook-climbs"); err == nil {
		t.Error("a file was written outside")
	}
}

// TestLint_NothingIsWrittenThroughLinks: a layer has a link to a folder outside, and a later one a file in it.
func TestLint_NothingIsWrittenThroughLinks(t *testing.T) {
	outside := t.TempDir()
	found, err := image.FromIndex(reference, index(t, build(t, amd64, label, base(t),
		layer(t, files(configJSON, symlink(steps+"out", outside))...), layer(t, file(steps+"out/x", "x", 0o644)))))
	must(t, err)
	if _, _, err := found.Lint(t.Context()); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

func TestLint_IsBounded(t *testing.T) {
	many := make([]entry, 10_001)
	for i := range many {
		many[i] = file("skyhook-package/data/"+strconv.Itoa(i), "", 0o644)
	}
	implied := make([]entry, 200)
	for i := range implied {
		implied[i] = file("skyhook-package/data/"+strconv.Itoa(i)+strings.Repeat("/a", 50), "", 0o644)
	}
	large := strings.Repeat("x", 65<<20)
	tests := map[string]struct {
		layer   v1.Layer
		warning bool
		want    string
	}{
		"many files":                     {layer(t, many...), true, ""},
		"many folders":                   {layer(t, implied...), true, ""},
		"many folders, but not too many": {layer(t, implied[:150]...), false, ""},
		"a large file":                   {layer(t, file("skyhook-package/data", large, 0o644)), true, ""},
		"large, but not in the package":  {layer(t, file("usr/lib/data", large, 0o644)), false, ""},
		"far too many folders":           {layer(t, slices.Repeat([]entry{folder("skyhook-package/data/")}, 100_001)...), false, "more than 100000 files and folders"},
		"a file with holes":              {holes(t, "skyhook-package/skyhook_dir/holes"), true, ""},
		"a config.json with holes":       {holes(t, "skyhook-package/config.json"), false, "config.json is larger than 4194304 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := image.FromIndex(reference, index(t, build(t, amd64, label, base(t), layer(t, files(configJSON)...), test.layer)))
			must(t, err)
			_, report, err := found.Lint(t.Context())
			switch {
			case test.want == "" && (err != nil || len(report.Errors) != 0 || len(report.Warnings) != len(missing)+map[bool]int{true: 1}[test.warning]):
				t.Errorf("report %+v, error %v", report, err)
			case test.warning && report.Warnings[0].Message != "has more than 10000 files and folders or 64 MiB":
				t.Errorf("got %+v", report.Warnings)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLint_ManyOddities: thousands of them take seconds, not hours, and what is
// said of all is said once.
func TestLint_ManyOddities(t *testing.T) {
	const count = 30_000
	pipes, names := make([]entry, count), make([]entry, 100)
	for i := range pipes {
		pipes[i] = link(tar.TypeFifo, steps+"p"+strconv.Itoa(i), "")
	}
	for i := range names {
		names[i] = file(steps+strings.Repeat("n", 300)+strconv.Itoa(100+i), "", 0o644)
	}
	found, err := image.FromIndex(reference, index(t, build(t, amd64, label, base(t), layer(t, files(configJSON)...), layer(t, pipes...), layer(t, names...))))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	_, report, err := found.Lint(ctx)
	if err != nil || len(report.Errors) != count+1 || report.Errors[0].Platform != "linux/amd64" {
		t.Errorf("%d errors, error %v, first %+v", len(report.Errors), err, report.Errors[:min(1, len(report.Errors))])
	}
}

// missing are the platforms besides the one that is tested.
var missing = []string{"arm64"}

// sparseTar is an archive of a few KiB in which a file has 60 GB.
func sparseTar(t *testing.T, name string, others map[string]string) []byte {
	t.Helper()
	dir := t.TempDir()
	names := []string{name}
	for other, content := range others {
		names = append(names, other)
		must(t, os.WriteFile(filepath.Join(dir, other), []byte(content), 0o644))
	}
	path := filepath.Join(dir, name)
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755), os.Truncate(path, 60<<30)))
	out, err := exec.Command("tar", append([]string{"-C", dir, "--sparse", "-c"}, names...)...).Output()
	if err != nil || len(out) > 20<<10 {
		t.Fatalf("%d bytes, error %v", len(out), err)
	}
	return out
}

func holes(t *testing.T, name string) v1.Layer {
	t.Helper()
	raw := sparseTar(t, name, nil)
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil })
	must(t, err)
	return l
}

// TestFromArchive_WithHoles: what the image's configuration would be in memory.
func TestFromArchive_WithHoles(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "x.tar")
	raw := sparseTar(t, "sha.json", map[string]string{"manifest.json": `[{"Config":"sha.json","RepoTags":[],"Layers":[]}]`})
	must(t, os.WriteFile(archive, raw, 0o644))
	if _, err := image.FromArchive(t.Context(), archive); err == nil || !strings.Contains(err.Error(), "the file sha.json in it has holes") {
		t.Errorf("got %v", err)
	}
}

func TestLint_LeavesNoFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	lint(t, reference, label, base(t), layer(t, files(configJSON)...))
	if left, err := filepath.Glob(os.TempDir() + "/*"); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// brokenLayer cannot be read.
type brokenLayer struct{ v1.Layer }

func (brokenLayer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", 100)), brokenReader{})), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func TestLint_NamesTheLayerThatCannotBeRead(t *testing.T) {
	found, err := image.FromIndex(reference, index(t, build(t, amd64, label, base(t), brokenLayer{layer(t)})))
	must(t, err)
	if _, _, err := found.Lint(t.Context()); err == nil || !strings.Contains(err.Error(), reference+" for linux/amd64: unpack layer 2 of 2: ") ||
		!strings.Contains(err.Error(), "connection lost") {
		t.Errorf("got %v", err)
	}
}

//go:build integration

package kit_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"maps"
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
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// shippable makes the package of a host one without faults and warnings.
func (a *author) shippable() {
	a.T.Helper()
	step := a.Script("a.sh", "")
	a.Must(os.Chmod(a.Path(packageDir, "skyhook_dir/a.sh"), 0o755))
	a.define("apply-check", step)
	a.define("apply", step)
	a.Save()
}

func (a *author) validate(args ...string) result {
	a.T.Helper()
	return a.run(append([]string{"validate"}, args...)...)
}

func TestValidate(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	dir := a.Path(packageDir)
	for _, args := range [][]string{{dir}, {filepath.Join(dir, "config.json")}, {"-o", "text", dir}, {dir, "-o=text"}, {"--strict", dir}, {dir, "--strict"}} {
		r := a.validate(args...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "package shell 1.1.0") || !strings.Contains(r.Stdout, "\nvalid: 0 errors, 0 warnings\n") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	a.define("apply", a.Script("a.sh", "").With("on_host", false), a.Script("b.sh", "").With("path", "/b.sh"))
	a.Save()
	r := a.validate(dir)
	for _, want := range []string{
		"error: config.json /modes/apply/0/on_host: ", "error: config.json /modes/apply/1/path: ",
		"warning: skyhook_dir/b.sh: is not executable; chmod +x it", "not valid: 2 errors",
	} {
		if r.Code != 1 || !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
}

func TestValidateStrictFailsOnWarnings(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	a.Config["packageName"] = "x"
	a.Save()
	if r := a.validate(a.Path(packageDir)); r.Code != 0 || !strings.Contains(r.Stdout, "warning: config.json /packageName: ") || !strings.Contains(r.Stdout, "\nvalid: 0 errors, 1 warnings") {
		t.Errorf("%+v", r)
	}
	if r := a.validate("--strict", a.Path(packageDir)); r.Code != 1 || !strings.Contains(r.Stdout, "not valid: 0 errors, 1 warnings") {
		t.Errorf("%+v", r)
	}
	if r := a.validate("--strict", "-o", "json", a.Path(packageDir)); r.Code != 1 || !strings.Contains(r.Stdout, `"valid": false`) {
		t.Errorf("%+v", r)
	}
}

func TestValidateUsage(t *testing.T) {
	a := newAuthor(t)
	for _, args := range [][]string{{}, {""}, {a.Root, a.Root}, {"-o", "xml", a.Root}, {"--wrong", a.Root}, {"-o"}} {
		r := a.validate(args...)
		if r.Code != 2 || r.Stdout != "" || strings.Count(r.Stderr, "Usage:") != 1 || !strings.Contains(r.Stderr, "PATH|IMAGE") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, args := range [][]string{{"--help"}, {"-h"}, {a.Root, "-h"}} {
		r := a.validate(args...)
		for _, want := range []string{"--strict", "docker archive", "OCI layout", "always a PATH", "its tag must be\nthe package_version", "Exit codes"} {
			if r.Code != 0 || r.Stderr != "" || !strings.Contains(r.Stdout, want) {
				t.Errorf("%q: no %q in %+v", args, want, r)
			}
		}
	}
}

// TestValidateOfNothing: what begins like a path is never asked for on the network.
func TestValidateOfNothing(t *testing.T) {
	a := newAuthor(t)
	for _, path := range []string{a.Path("none"), "./none", "../none", "/none:1.0.0"} {
		if r := a.validate(path); r.Code != 1 || !strings.Contains(r.Stderr, "ERROR: find the package: ") || r.Stdout != "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
	a.Write("/x.tar", "no archive")
	if r := a.validate(a.Path("x.tar")); r.Code != 1 || !strings.Contains(r.Stderr, "is not a docker archive") {
		t.Errorf("%+v", r)
	}
	if r := a.validate("no such package"); r.Code != 1 || !strings.Contains(r.Stderr, "there is no file or folder no such package here") {
		t.Errorf("%+v", r)
	}
}

type validated struct {
	Valid            bool
	Errors, Warnings []packagefile.Problem
}

func (a *author) validateJSON(code int, what string) validated {
	a.T.Helper()
	r := a.validate("-o", "json", what)
	var got validated
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || r.Code != code {
		a.T.Fatalf("%v, %+v", err, r)
	}
	return got
}

func TestValidateJSON(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	if got := a.validateJSON(0, a.Path(packageDir)); !got.Valid || got.Errors == nil || got.Warnings == nil || len(got.Errors)+len(got.Warnings) != 0 {
		t.Errorf("%+v", got)
	}
	a.Config["package_version"] = "1"
	a.Save()
	got := a.validateJSON(1, a.Path(packageDir))
	if got.Valid || len(got.Errors) != 1 || slices.Contains([]string{got.Errors[0].File, got.Errors[0].Pointer, got.Errors[0].Message, got.Errors[0].Fix}, "") {
		t.Errorf("%+v", got)
	}
}

// image packs the host's package on top of what copies it.
func (a *author) image(arch string) v1.Image {
	a.T.Helper()
	return a.imageOf(arch, map[string]string{"config.json": a.Read(packageDir, "config.json"), "skyhook_dir/a.sh": a.Read(packageDir, "skyhook_dir/a.sh")})
}

// imageOf is the image of the package with these files.
func (a *author) imageOf(arch string, files map[string]string) v1.Image {
	a.T.Helper()
	contents := map[string]string{"bin/sh": "", "bin/mkdir": "", "bin/cp": ""}
	for name, content := range files {
		contents["skyhook-package/"+name] = content
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range slices.Sorted(maps.Keys(contents)) {
		content := contents[file]
		a.Must(w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		a.Must(err)
	}
	a.Must(w.Close())
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	a.Must(err)
	img, err := mutate.AppendLayers(empty.Image, l)
	a.Must(err)
	config, err := img.ConfigFile()
	a.Must(err)
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Labels = "linux", arch, map[string]string{"com.nvidia.skyhook.uninstall": "false"}
	img, err = mutate.ConfigFile(img, config)
	a.Must(err)
	return img
}

func (a *author) imageIndex() v1.ImageIndex {
	a.T.Helper()
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: a.image(arch), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index
}

// TestValidateImage wherever it is: in a registry, a layout or an archive.
func TestValidateImage(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	repository := registry.Serve(t) + "/shell"
	for _, tag := range []string{"1.1.0", "1.1.1"} {
		reference, err := name.NewTag(repository + ":" + tag)
		a.Must(err)
		a.Must(remote.WriteIndex(reference, a.imageIndex()))
		path, err := layout.Write(a.Path(tag), empty.Index)
		a.Must(err)
		a.Must(path.AppendIndex(a.imageIndex(), layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})))
		a.Must(tarball.WriteToFile(a.Path(tag+".tar"), reference, a.image("amd64")))
	}
	for _, format := range []string{repository + ":%", a.Path("%"), a.Path("%.tar")} {
		good, bad := strings.Replace(format, "%", "1.1.0", 1), strings.Replace(format, "%", "1.1.1", 1)
		if r := a.validate("--strict", good); r.Code != 0 || !strings.Contains(r.Stdout, "package shell 1.1.0") || r.Stderr != "" {
			t.Errorf("%s: %+v", good, r)
		}
		got := a.validateJSON(1, bad)
		if len(got.Errors) != 1 || got.Errors[0].Pointer != "/package_version" || !strings.HasPrefix(got.Errors[0].Platform, "linux/amd64") {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	r := a.validate(repository + ":9.9.9")
	if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "get image "+repository+":9.9.9: ") || !strings.Contains(r.Stderr, "has to be pushed first") {
		t.Errorf("%+v", r)
	}
}

// TestValidateUsesTheCredentialsOfDockerLogin, here broken ones, to see that they are read.
func TestValidateUsesTheCredentialsOfDockerLogin(t *testing.T) {
	a := newAuthor(t)
	a.Write("/docker/config.json", "{")
	a.Env["DOCKER_CONFIG"] = a.Path("docker")
	if r := a.validate(registry.Serve(t) + "/shell:1.0.0"); r.Code != 1 || !strings.Contains(r.Stderr, a.Path("docker/config.json")) {
		t.Errorf("%+v", r)
	}
}

// TestReportThatCannotBeWritten is no success, as on a CI machine whose disk is
// full.
func TestReportThatCannotBeWritten(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	a.Must(err)
	defer func() { _ = full.Close() }()
	cmd := a.command("validate", "-o", "json", a.Path(packageDir))
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "ERROR: write the report: ") {
		t.Errorf("%v, %s", err, stderr.String())
	}
}

//go:build integration

package images

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

// maxAgent is the most that a node may have to download for the agent, and maxBinary what the program may weigh there.
const maxAgent, maxBinary = 5e6, 10e6

var host = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}

func one(t *testing.T, o Options) Result {
	t.Helper()
	results := must(Build(t.Context(), o))(t)
	if len(results) != 1 {
		t.Fatalf("built %d images, want 1", len(results))
	}
	return results[0]
}

func imageOf(t *testing.T, r Result) v1.Image {
	t.Helper()
	manifest := must(r.Index.IndexManifest())(t)
	return must(r.Index.Image(manifest.Manifests[0].Digest))(t)
}

func TestAgentIsSmallStaticAndReproducible(t *testing.T) {
	// The same Out is "rebuild in place", another one a build from scratch: its binary is linked anew.
	first, second := t.TempDir(), t.TempDir()
	o := Options{Root: "../..", Out: filepath.Join(first, "images"), Revision: "abc", Platforms: host, Only: []string{"agent"}}
	a := one(t, o)
	o.Out = filepath.Join(second, "images")
	b := one(t, o)
	if a.Digest != b.Digest {
		t.Errorf("two builds have digests %s and %s", a.Digest, b.Digest)
	}
	if a.Size > maxAgent {
		t.Errorf("the image has %d bytes, want at most %d", a.Size, int(maxAgent))
	}
	binary := must(os.ReadFile(filepath.Join(first, "bin", "linux-"+runtime.GOARCH, "skyhook-agent")))(t)
	if len(binary) > maxBinary {
		t.Errorf("the binary has %d bytes, want at most %d", len(binary), int(maxBinary))
	}
	program := must(elf.NewFile(bytes.NewReader(binary)))(t)
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary needs a dynamic linker, which an image from scratch has not got")
	}
	config := must(imageOf(t, a).ConfigFile())(t)
	if !slices.Equal(config.Config.Entrypoint, []string{"/skyhook-agent"}) {
		t.Errorf("entrypoint is %v", config.Config.Entrypoint)
	}
}

// TestOperatorLacksWhatNobodyCalls: one function that calls methods by name makes the linker keep every method of every
// type, a quarter of the program. What is left of it has to fit into what the operator's memory limit reserves for it.
func TestOperatorLacksWhatNobodyCalls(t *testing.T) {
	const remedy = `find the caller in the output of "go build -ldflags=-dumpdep", which marks it <ReflectMethod>`
	o := Options{Root: "../..", Out: filepath.Join(t.TempDir(), "images"), Log: t.Output()}
	program := must(Program(t.Context(), o, "skyhook-operator", host[0]))(t)
	for _, function := range []string{"text/template.(*state).evalField", "reflect.(*rtype).Methods"} {
		if bytes.Contains(program, []byte(function)) {
			t.Errorf("the operator has %s; %s", function, remedy)
		}
	}
	var pages uint64
	for _, part := range must(elf.NewFile(bytes.NewReader(program)))(t).Progs {
		if part.Type == elf.PT_LOAD && part.Flags&elf.PF_W == 0 {
			pages += part.Filesz
		}
	}
	if most := uint64(1<<30) - settings.DataMemory(1<<30) + 1<<20; pages > most {
		t.Errorf("the operator has %d bytes that are not data, want at most %d; %s", pages, most, remedy)
	}
	for _, path := range []string{
		"../operator.Dockerfile", "../agent.Dockerfile", "../../tools/compile", "../../tools/vulncheck", "../../Makefile",
	} {
		if !strings.Contains(string(must(os.ReadFile(path))(t)), " -tags "+Tags+" ") {
			t.Errorf("%s does without -tags %s", path, Tags)
		}
	}
}

// testPackage is an image that needs no compiler.
func testPackage(t *testing.T, mode os.FileMode) Options {
	t.Helper()
	root := t.TempDir()
	writePackage(t, root, "p", validPackage(), mode)
	return Options{Root: root, Version: "v1", Revision: "abc", Only: []string{"p"}}
}

func TestPackageIsReproducibleForAllPlatforms(t *testing.T) {
	a, b := one(t, testPackage(t, 0o600)), one(t, testPackage(t, 0o644))
	if a.Digest != b.Digest {
		t.Errorf("the modes of a clone change the digest: %s and %s", a.Digest, b.Digest)
	}
	changed := testPackage(t, 0o600)
	changed.Revision = "def"
	if c := one(t, changed); c.Digest == a.Digest {
		t.Errorf("the revision is a label, but does not change the digest %s", c.Digest)
	}
	manifest := must(a.Index.IndexManifest())(t)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("platforms are %v, want %v", platforms, want)
	}
}

func TestLabels(t *testing.T) {
	config := must(imageOf(t, one(t, testPackage(t, 0o600))).ConfigFile())(t)
	const prefix = "org.opencontainers.image."
	want := map[string]string{
		prefix + "title": "p", prefix + "description": "Skyhook package p", prefix + "version": "1.2.3", prefix + "revision": "abc",
		prefix + "source": "https://github.com/skyhook-operator/skyhook", prefix + "licenses": "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later",
		"com.nvidia.skyhook.uninstall": "false",
	}
	for key, value := range want {
		if got := config.Config.Labels[key]; got != value {
			t.Errorf("label %s is %q, want %q", key, got, value)
		}
	}
	if len(config.Config.Labels) != len(want) || config.Created.Unix() != 0 {
		t.Errorf("labels are %v, created is %v", config.Config.Labels, config.Created)
	}
}

func TestWrittenFilesHoldTheImage(t *testing.T) {
	result := one(t, testPackage(t, 0o600))
	path := must(layout.FromPath(result.Layout))(t)
	root := must(path.ImageIndex())(t)
	if err := validate.Index(root); err != nil {
		t.Error(err)
	}
	manifest := must(root.IndexManifest())(t)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != result.Digest {
		t.Errorf("the layout holds %v, want one index %s", manifest.Manifests, result.Digest)
	}
	if len(result.Tarballs) != len(AllPlatforms) {
		t.Fatalf("tarballs are %v, want %d", result.Tarballs, len(AllPlatforms))
	}
	reference := name.MustParseReference("ghcr.io/skyhook-operator/skyhook-packages/p:1.2.3").(name.Tag)
	for _, file := range result.Tarballs {
		image := must(tarball.ImageFromPath(file, &reference))(t)
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"no root", Options{}, "option Root"},
		{"no such image", Options{Root: "../..", Only: []string{"nothing"}}, `no image is named "nothing"`},
		{"bad name", Options{Root: "../..", Package: testPackage(t, 0o600).Root + "/packages/p", Name: "My P"}, "do not make a reference"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Build(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestBusyboxHasEveryApplet(t *testing.T) {
	o := must(Options{Root: "../.."}.withDefaults())(t)
	files := must(o.debian.files(t.Context(), o, runtime.GOARCH))(t)
	binary := must(files[1].extract(t.Context(), "bin/busybox"))(t)
	path := filepath.Join(t.TempDir(), "busybox")
	if err := os.WriteFile(path, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	out := must(exec.CommandContext(t.Context(), path, "--list").Output())(t)
	has := strings.Fields(string(out))
	for _, applet := range applets {
		if !slices.Contains(has, applet) {
			t.Errorf("busybox has no applet %s", applet)
		}
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

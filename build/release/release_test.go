//go:build integration

package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const root = "../.."

// TestRelease makes a release for this machine's platform twice, each time from nothing, and reads it as its users do.
func TestRelease(t *testing.T) {
	key := newKey(t, elliptic.P256())
	o := Options{
		Root: root, Dist: t.TempDir(), Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}},
		Key: keyFile(t, "EC PRIVATE KEY", key), Log: t.Output(),
	}
	first := must(Make(t.Context(), o))(t)
	files := contents(t, first.Dir)
	t.Run("files", func(t *testing.T) { checkNames(t, first, files) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, files) })
	t.Run("signatures", func(t *testing.T) { checkSignatures(t, first, files) })
	t.Run("images", func(t *testing.T) { checkImages(t, first, files) })
	t.Run("program", func(t *testing.T) { checkProgram(t, first, files) })
	t.Run("krew", func(t *testing.T) { checkKrew(t, first, files) })
	t.Run("modules", func(t *testing.T) { checkModules(t, o.Dist, first) })
	t.Run("chart", func(t *testing.T) { checkChart(t, first, files) })
	t.Run("again", func(t *testing.T) {
		o.Dist = t.TempDir()
		second := must(Make(t.Context(), o))(t)
		again := contents(t, second.Dir)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(again))); diff != "" {
			t.Errorf("files (-first +second):\n%s", diff)
		}
		for name, content := range files {
			if !bytes.Equal(content, again[name]) {
				t.Errorf("%s differs", name)
			}
		}
	})
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries := must(os.ReadDir(dir))(t)
	files := map[string][]byte{}
	for _, entry := range entries {
		files[entry.Name()] = read(t, filepath.Join(dir, entry.Name()))
	}
	return files
}

func checkNames(t *testing.T, r Result, files map[string][]byte) {
	platform := "-linux-" + runtime.GOARCH
	program := "skyhook-" + r.Version + platform
	want := []string{
		"SHA256SUMS", "SHA256SUMS.sigstore.json", "cosign.pub", "images.txt", "install.yaml", "krew.yaml", "kustomization.yaml", "skyhook-operator-" + r.Version + ".tgz",
		program + ".spdx.json", program + ".tar.gz",
	}
	for _, image := range r.Images {
		file := image.Name + "-" + image.Version
		want = append(want, file+".oci.tar", file+".sigstore.json", file+platform+".spdx.json")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// checkSums: the sums are right, and there is one of every file that is not itself about the sums.
func checkSums(t *testing.T, files map[string][]byte) {
	var summed []string
	for line := range strings.Lines(string(files["SHA256SUMS"])) {
		sum, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(files[file])); got != sum {
			t.Errorf("the sum of %s is %s, not %s", file, got, sum)
		}
		summed = append(summed, file)
	}
	for file := range files {
		signature := file == "SHA256SUMS" || file == "cosign.pub" || strings.HasSuffix(file, ".sigstore.json")
		if slices.Contains(summed, file) == signature {
			t.Errorf("%s has a sum: %t", file, !signature)
		}
	}
}

func checkSignatures(t *testing.T, r Result, files map[string][]byte) {
	block, _ := pem.Decode(files["cosign.pub"])
	parsed := must(x509.ParsePKIXPublicKey(block.Bytes))(t)
	key := parsed.(*ecdsa.PublicKey)
	sum := sha256.Sum256(files["SHA256SUMS"])
	verify(t, filepath.Join(r.Dir, "SHA256SUMS.sigstore.json"), key, sum[:])
	for _, image := range r.Images {
		digest := must(hex.DecodeString(image.Digest.Hex))(t)
		verify(t, filepath.Join(r.Dir, image.Name+"-"+image.Version+".sigstore.json"), key, digest)
	}
}

// checkImages: the archives hold the images that the list names.
func checkImages(t *testing.T, r Result, files map[string][]byte) {
	list := strings.Fields(string(files["images.txt"]))
	if len(list) != len(r.Images) {
		t.Fatalf("%d images in the list, %d made", len(list), len(r.Images))
	}
	for i, image := range r.Images {
		reference := must(name.NewDigest(list[i]))(t)
		dir := t.TempDir()
		archive := filepath.Join(r.Dir, image.Name+"-"+image.Version+".oci.tar")
		if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-xf", archive).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v: %s", archive, err, out)
		}
		index := must(layout.ImageIndexFromPath(dir))(t)
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", archive, err)
		}
		manifest := must(index.IndexManifest())(t)
		if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != reference.DigestStr() {
			t.Errorf("%s holds %v, the list says %s", archive, manifest.Manifests, reference)
		}
	}
}

func checkProgram(t *testing.T, r Result, files map[string][]byte) {
	members := must(untarGzip(files["skyhook-"+r.Version+"-linux-"+runtime.GOARCH+".tar.gz"]))(t)
	dir := t.TempDir()
	for _, m := range members {
		if err := os.WriteFile(filepath.Join(dir, m.name), m.content, os.FileMode(m.mode)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "skyhook"), "--version").Output()
	if err != nil || strings.TrimSpace(string(out)) != "Skyhook plugin: "+r.Version {
		t.Errorf("the program says %q, %v, want %s", out, err, r.Version)
	}
	if !bytes.Contains(read(t, filepath.Join(dir, "LICENSE")), []byte("Apache License")) {
		t.Error("no licence beside the program")
	}
}

// checkModules: a document names every module that "go version -m" finds in the binary, with its sum, and nothing else.
func checkModules(t *testing.T, dist string, r Result) {
	for program, documents := range map[string][]string{"skyhook-operator": {"operator"}, "skyhook-agent": {"agent"}, "skyhook": {"skyhook"}} {
		file := filepath.Join(dist, "bin", "linux-"+runtime.GOARCH, program)
		out := must(exec.CommandContext(t.Context(), "go", "version", "-m", file).Output())(t)
		var want []string
		for line := range strings.Lines(string(out)) {
			if fields := strings.Fields(line); fields[0] == "dep" {
				want = append(want, strings.Join(fields[1:], " "))
			}
		}
		for _, document := range documents {
			var got []string
			doc := readDocument(t, filepath.Join(r.Dir, document+"-"+r.Version+"-linux-"+runtime.GOARCH+".spdx.json"))
			for _, p := range doc.Packages {
				if sum, isModule := strings.CutPrefix(p.PackageComment, "go.sum "); isModule {
					got = append(got, p.PackageName+" "+p.PackageVersion+" "+sum)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("modules of %s in %s (-binary +document):\n%s", program, document, diff)
			}
		}
	}
}

func checkChart(t *testing.T, r Result, files map[string][]byte) {
	members := must(untarGzip(files["skyhook-operator-"+r.Version+".tgz"]))(t)
	inPackage := map[string]string{}
	for _, m := range members {
		inPackage[strings.TrimPrefix(m.name, "skyhook-operator/")] = string(m.content)
	}
	for _, name := range []string{"values.yaml", "values.schema.json", "templates/deployment.yaml", "files/crds/skyhook.nvidia.com_skyhooks.yaml"} {
		if inPackage[name] != string(read(t, filepath.Join(root, chartDir, name))) {
			t.Errorf("%s of the chart's package is not that of the chart", name)
		}
	}
	for _, image := range r.Images {
		pinned := strings.Contains(string(files["install.yaml"]), image.Reference+"@"+image.Digest.String())
		if wanted := image.Name == "operator" || image.Name == "agent"; pinned != wanted {
			t.Errorf("install.yaml names %s by its digest: %t", image.Reference, pinned)
		}
	}
}

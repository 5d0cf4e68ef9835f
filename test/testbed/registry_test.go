//go:build linux

package testbed

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// serveTestRegistry serves the registry kept in dir and returns its address.
func serveTestRegistry(t *testing.T, dir string) string {
	t.Helper()
	r := must(newRegistry(dir))(t)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	return must(random.Image(512, 2))(t)
}

// pull returns the digest of what the registry has under a reference without host.
func pull(t *testing.T, addr, ref string) (v1.Hash, error) {
	t.Helper()
	r := must(name.ParseReference(addr+"/"+ref, name.Insecure))(t)
	image, err := remote.Image(r)
	if err != nil {
		return v1.Hash{}, err
	}
	layers := must(image.Layers())(t)
	for _, l := range layers {
		rc, err := l.Compressed()
		if err != nil {
			return v1.Hash{}, err
		}
		closeQuietly(rc)
	}
	return image.Digest()
}

func TestRegistryServesEveryHostsNames(t *testing.T) {
	addr := serveTestRegistry(t, t.TempDir())
	for image, want := range map[string]string{
		"ghcr.io/nvidia/skyhook-packages/shellscript:1.1.0": "nvidia/skyhook-packages/shellscript:1.1.0",
		"busybox:1.36":                    "library/busybox:1.36", // as containerd completes it
		"localhost:5000/operator":         "operator:latest",
		"registry.example.com:8443/a/b:2": "a/b:2",
	} {
		img := randomImage(t)
		digest := must(img.Digest())(t)
		if err := push(t.Context(), addr, img, []string{image}); err != nil {
			t.Fatal(err)
		}
		repository, _, _ := strings.Cut(want, ":")
		for _, ref := range []string{want, repository + "@" + digest.String()} {
			if got, err := pull(t, addr, ref); err != nil || got != digest {
				t.Errorf("%s as %s: %v, %v", image, ref, got, err)
			}
		}
	}
	if _, err := pull(t, addr, "never/pushed:1"); err == nil {
		t.Error("an image that was never pushed was pulled")
	}
	if err := push(t.Context(), addr, randomImage(t), []string{"Not A Name"}); err == nil || !strings.Contains(err.Error(), "Not A Name") {
		t.Errorf("bad name: %v", err)
	}
}

func TestRegistryKeepsImages(t *testing.T) {
	dir := t.TempDir()
	first := serveTestRegistry(t, dir)
	old, image := randomImage(t), randomImage(t)
	index := must(random.Index(256, 1, 3))(t)
	nested := mutate.AppendManifests(index, mutate.IndexAddendum{Add: image})
	for _, p := range []struct {
		what remote.Taggable
		name string
	}{{old, "a/moved:1"}, {image, "a/moved:1"}, {nested, "a/index:1"}} {
		if err := push(t.Context(), first, p.what, []string{p.name}); err != nil {
			t.Fatal(err)
		}
	}

	second := serveTestRegistry(t, dir)
	want := must(image.Digest())(t)
	if got, err := pull(t, second, "a/moved:1"); err != nil || got != want {
		t.Errorf("moved tag: %v, %v, want %v", got, err, want)
	}
	oldDigest := must(old.Digest())(t)
	if _, err := pull(t, second, "a/moved@"+oldDigest.String()); err != nil {
		t.Errorf("old digest: %v", err)
	}
	ref := must(name.ParseReference(second+"/a/index:1", name.Insecure))(t)
	got := must(remote.Index(ref))(t)
	m, err := got.IndexManifest()
	if err != nil || len(m.Manifests) != 4 {
		t.Errorf("index: %v, %v", m, err)
	}
}

func TestRegistryRefusesBrokenStore(t *testing.T) {
	for file, content := range map[string]string{
		"cut short":      `{"Path":`,
		"lost manifests": `{"Path":"/v2/a/manifests/1","ContentType":"application/vnd.oci.image.index.v1+json","Body":"eyJtYW5pZmVzdHMiOlt7ImRpZ2VzdCI6InNoYTI1NjowMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIiwibWVkaWFUeXBlIjoiYXBwbGljYXRpb24vdm5kLm9jaS5pbWFnZS5tYW5pZmVzdC52MStqc29uIn1dfQ=="}`,
	} {
		dir := t.TempDir()
		if err := writeBelow(dir, "manifests/x.json", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if _, err := newRegistry(dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestFailedPushIsNotKept(t *testing.T) {
	dir := t.TempDir()
	addr := serveTestRegistry(t, dir)
	url := "http://" + addr + "/v2/a/manifests/sha256:00"
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader("{}")))(t)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(res.Body)
	kept, _ := filepath.Glob(filepath.Join(dir, "manifests", "*"))
	if (res.StatusCode < 300) != (len(kept) > 0) {
		t.Errorf("answer %s, kept %v", res.Status, kept)
	}
}

func TestIsManifestPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/v2/a/manifests/1":            true,
		"/v2/a/b/c/manifests/sha256:0": true,
		"/v2/a/blobs/sha256:0":         false,
		"/v2/manifests/1":              false,
		"/v2/":                         false,
		"/v1/a/manifests/1":            false,
	} {
		if got := isManifestPath(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

func TestProgramImage(t *testing.T) {
	src := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(src, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	image := must(ProgramImage(map[string]string{"bin/tool": src}, "/bin/tool", "-x"))(t)
	cf := must(image.ConfigFile())(t)
	if cf.OS != "linux" || len(cf.Config.Entrypoint) != 2 || len(cf.RootFS.DiffIDs) != 1 {
		t.Errorf("config %+v", cf)
	}
	entries := map[string]int64{}
	files := extract(t, image)
	for name, h := range files {
		entries[name] = h.Mode
	}
	if entries["bin/tool"] != 0o755 || entries["tmp"] != 0o1777 || entries["bin"] != 0o755 || len(entries) != 3 {
		t.Errorf("entries %v", entries)
	}
	if _, err := ProgramImage(map[string]string{"x": src + ".none"}); err == nil {
		t.Error("a missing file made an image")
	}
}

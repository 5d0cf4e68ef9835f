//go:build integration

package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// TestPublish pushes a small release to a registry and gets from it what a cluster and Helm would.
func TestPublish(t *testing.T) {
	helm := must(manifest.Helm(t.Context(), root, t.Output()))(t)
	host := registry.Serve(t)
	var log bytes.Buffer
	p := Publisher{Dir: smallRelease(t, helm), Registry: host, Helm: helm, Log: &log}
	for range 2 { // again, because the first one may have been interrupted
		log.Reset()
		if err := p.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.FieldsSeq(string(read(t, filepath.Join(p.Dir, imagesFile)))) {
		reference, digest, _ := strings.Cut(strings.Replace(line, "registry.example.com", host, 1), "@")
		got := must(remote.Head(must(name.ParseReference(reference))(t)))(t)
		if got.Digest.String() != digest {
			t.Errorf("%s is %s, want %s", reference, got.Digest, digest)
		}
		if !strings.Contains(log.String(), reference+"@"+digest+"\n") {
			t.Errorf("the log does not name %s: %s", reference, &log)
		}
	}
	chart := host + "/org/charts/small:v1.2.3"
	if want := chart + "@" + must(remote.Head(must(name.ParseReference(chart))(t)))(t).Digest.String(); !strings.HasSuffix(log.String(), want+"\n") {
		t.Errorf("the log does not end with %s: %s", want, &log)
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), helm, "pull", "oci://"+host+"/org/charts/small", "--version", "v1.2.3", "--plain-http", "-d",
		dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !bytes.Equal(read(t, filepath.Join(dir, "small-v1.2.3.tgz")), read(t, filepath.Join(p.Dir, "small-v1.2.3.tgz"))) {
		t.Error("the chart is another one")
	}
}

// TestPublishMovesNoTag: neither that of an image nor that of the chart. What was changed after it was made is not pushed.
func TestPublishMovesNoTag(t *testing.T) {
	helm := must(manifest.Helm(t.Context(), root, t.Output()))(t)
	host := registry.Serve(t)
	first := Publisher{Dir: smallRelease(t, helm), Registry: host, Helm: helm, Log: t.Output()}
	if err := first.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, p Publisher, want string) {
		t.Helper()
		if err := p.Publish(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	other := first
	other.Dir = smallRelease(t, helm)
	refused("other images", other, "org/operator:v1.2.3: the tag is there already")

	chart := must(filepath.Glob(filepath.Join(first.Dir, "*.tgz")))(t)[0]
	members := must(untarGzip(read(t, chart)))(t)
	if err := tarGzip(chart, append(members, member{"small/more", 0o644, []byte("more")})); err != nil {
		t.Fatal(err)
	}
	refused("a changed file", first, "small-v1.2.3.tgz is not the file that SHA256SUMS names")
	sum(t, first.Dir)
	refused("another chart", first, "org/charts/small:v1.2.3: the tag is there already, with another chart")
}

// smallRelease has two images with random content, and a chart.
func smallRelease(t *testing.T, helm string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var list strings.Builder
	for _, image := range []string{"operator", "agent"} {
		index := must(random.Index(64, 1, 2))(t)
		folder := t.TempDir()
		path := must(layout.Write(folder, empty.Index))(t)
		if err := path.AppendIndex(index); err != nil {
			t.Fatal(err)
		}
		if err := tarFolder(filepath.Join(dir, image+"-v1.2.3"+imageExt), folder); err != nil {
			t.Fatal(err)
		}
		list.WriteString("registry.example.com/org/" + image + ":v1.2.3@" + must(index.Digest())(t).String() + "\n")
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		filepath.Join(dir, imagesFile):     list.String(),
		filepath.Join(small, "Chart.yaml"): "{apiVersion: v2, name: small, version: v1.2.3}",
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), helm, "package", small, "-d", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sum(t, dir)
	return dir
}

// sum writes the checksums, of which there may be some already.
func sum(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, sumsFile)); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
}

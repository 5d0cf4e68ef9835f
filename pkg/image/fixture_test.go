package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// entry of a layer: name, content, and a header for what is not a plain file.
type entry struct {
	tar.Header
	content string
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func file(name, content string, mode int64) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}, content}
}

func folder(name string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}}
}

func link(kind byte, name, target string) entry {
	return entry{Header: tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777}}
}

func symlink(name, target string) entry { return link(tar.TypeSymlink, name, target) }

func script(name string) entry { return file(name, "#!/bin/sh\n", 0o755) }

// gone is how a layer takes away what a lower one brought.
func gone(name string) entry { return file(name, "", 0o644) }

func layer(t testing.TB, entries ...entry) v1.Layer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		must(t, w.WriteHeader(&e.Header))
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	must(t, err)
	return l
}

const configJSON = `{"schema_version": "v1", "package_name": "tuning", "package_version": "1.2.3", "expected_config_files": [], "modes": {
"apply": [{"name": "run", "path": "run.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}],
"apply-check": [{"name": "run", "path": "run_check.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}]}}`

// uninstalls makes a package that has uninstall steps as well.
var uninstalls = strings.NewReplacer(`"apply":`, `"uninstall":`, `"apply-check":`, `"uninstall-check":`)

func base(t testing.TB) v1.Layer {
	return layer(t, folder("bin/"), symlink("bin/sh", "busybox"), file("bin/busybox", "\x7fELF", 0o755),
		link(tar.TypeLink, "bin/cp", "bin/busybox"), link(tar.TypeLink, "bin/mkdir", "bin/busybox"))
}

func files(config string, more ...entry) []entry {
	return append([]entry{
		folder("skyhook-package/"), file("skyhook-package/config.json", config, 0o644),
		script("skyhook-package/skyhook_dir/run.sh"), script("skyhook-package/skyhook_dir/run_check.sh"),
	}, more...)
}

var (
	amd64 = v1.Platform{OS: "linux", Architecture: "amd64"}
	arm64 = v1.Platform{OS: "linux", Architecture: "arm64"}
	label = map[string]string{"com.nvidia.skyhook.uninstall": "false"}
)

func build(t testing.TB, platform v1.Platform, labels map[string]string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	must(t, err)
	config, err := img.ConfigFile()
	must(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Config.Labels = platform.OS, platform.Architecture, platform.Variant, labels
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// good is the image of a package without faults.
func good(t testing.TB, platform v1.Platform) v1.Image {
	return build(t, platform, label, base(t), layer(t, files(configJSON)...))
}

func index(t testing.TB, images ...v1.Image) v1.ImageIndex {
	t.Helper()
	result := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		config, err := img.ConfigFile()
		must(t, err)
		result = mutate.AppendManifests(result, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}
	return result
}

// lint checks an image for both platforms made of the given layers.
func lint(t testing.TB, reference string, labels map[string]string, layers ...v1.Layer) packagefile.Report {
	t.Helper()
	found, err := image.FromIndex(reference, index(t, build(t, amd64, labels, layers...), build(t, arm64, labels, layers...)))
	must(t, err)
	_, report, err := found.Lint(t.Context())
	must(t, err)
	return report
}

// expect is one problem, on both platforms; none if message is empty.
func expect(t *testing.T, problems []packagefile.Problem, file, message, fix string) {
	t.Helper()
	if message == "" {
		if len(problems) != 0 {
			t.Errorf("problems %+v", problems)
		}
		return
	}
	if len(problems) != 1 {
		t.Fatalf("want one problem, got %+v", problems)
	}
	p := problems[0]
	if p.File != file || !strings.Contains(p.Message, message) || !strings.Contains(p.Fix, fix) || p.Platform != "linux/amd64,linux/arm64" {
		t.Errorf("got %+v", p)
	}
}

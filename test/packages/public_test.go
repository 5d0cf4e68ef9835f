//go:build integration

package packages_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/pkg/image"
)

// public is what is known of a package of the field's public repository: names, versions, modes and keys. Its scripts
// are its own affair; those here only see whether they are called as in a cluster.
type public struct {
	// name is the image's; packageName that in config.json.
	name, packageName string
	// tag is the image's; version that in config.json.
	tag, version string
	modes        []string
	keys         []string
	// base is the package that it is derived from.
	base string
	// validate is the one error of its image; of its folder there are none.
	validate string
}

const lags = "but the tag of the image is"

var publics = []public{
	{"shellscript", "shellscript", "1.1.1", "1.1.1", []string{"apply", "config", "post-interrupt", "uninstall"}, nil, "", ""},
	{"tuning", "tuning", "1.1.4", "1.1.4", []string{"config", "post-interrupt-check", "uninstall"}, nil, "", ""},
	{"tuned", "tuned", "1.2.0", "1.1.0", []string{"apply", "upgrade", "config", "post-interrupt-check", "uninstall"}, nil, "", lags},
	{"kdump", "kdump", "1.1.0", "1.0.0", []string{"apply", "config", "post-interrupt-check", "uninstall"}, nil, "", lags},
	{"nvidia-setup", "nvidia_setup", "0.2.1", "0.2.1", []string{"apply", "post-interrupt-check"}, []string{"service", "accelerator"}, "", ""},
	{"nvidia-tuned", "nvidia_tuned", "0.2.3", "0.2.3", []string{"apply", "upgrade", "config", "post-interrupt-check", "uninstall"}, []string{"accelerator"}, "tuned", ""},
	{"nvidia-tuning-gke", "nvidia_tuning_gke", "0.1.1", "0.1.1", []string{"config", "post-interrupt-check", "uninstall"}, []string{"accelerator", "intent"}, "tuning", ""},
}

// script is that of a package; those made from it have none of their own.
func (p public) script() string {
	if p.base != "" {
		return p.base + "_run.sh"
	}
	return p.name + "_run.sh"
}

// write makes the package's folder below dir.
func (p public) write(t *testing.T, dir string) string {
	t.Helper()
	dir = filepath.Join(dir, p.name)
	modes := map[string]any{}
	for _, mode := range p.modes {
		for _, mode := range []string{mode, strings.TrimSuffix(mode, "-check") + "-check"} {
			modes[mode] = []map[string]any{{
				"name": mode, "path": p.script(), "arguments": []string{mode}, "returncodes": []int{0},
				"on_host": true, "idempotence": true, "upgrade_step": false, "env": map[string]string{},
			}}
		}
	}
	raw, err := json.Marshal(map[string]any{
		"schema_version": "v1", "package_name": p.packageName, "package_version": p.version,
		"expected_config_files": append([]string{}, p.keys...), "modes": modes,
	})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "skyhook_dir"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), raw, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "skyhook_dir/data"), nil, 0o644))
	if p.base == "" {
		// As packages do that name files after theirs in the Skyhook.
		const text = "#!/bin/bash\n[[ \"$SKYHOOK_RESOURCE_ID\" =~ ^[^_]+_[^_]+_[^_]+$ ]] || exit 1\necho \"$1\" >> /etc/called\n"
		must(t, os.WriteFile(filepath.Join(dir, "skyhook_dir", p.script()), []byte(text), 0o644))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// archive is the image, made from folders of which later ones win.
func (p public) archive(t *testing.T, dirs ...string) string {
	t.Helper()
	contents := image.Tree{"bin/sh": image.Program(nil), "bin/mkdir": image.Program(nil), "bin/cp": image.Program(nil)}
	for _, dir := range dirs {
		for _, file := range folders(t, dir+"/*") {
			if filepath.Base(file) == "config.json" {
				contents["skyhook-package/config.json"] = image.File(read(t, file))
				continue
			}
			for _, step := range folders(t, file+"/*") {
				contents["skyhook-package/skyhook_dir/"+filepath.Base(step)] = image.File(read(t, step))
			}
		}
	}
	layer, err := contents.Layer()
	must(t, err)
	img, err := image.New(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, v1.Config{}, layer)
	must(t, err)
	tag, err := name.NewTag("registry.test/" + p.name + ":" + p.tag)
	must(t, err)
	file := filepath.Join(t.TempDir(), "image.tar")
	must(t, image.WriteArchive(file, tag, img))
	return file
}

// TestPublicPackages holds the table in docs/packages.md: what validate, run and make package say of each package.
func TestPublicPackages(t *testing.T) {
	dir := t.TempDir()
	for _, p := range publics {
		t.Run(p.name, func(t *testing.T) {
			folder := p.write(t, dir)
			options, dirs := []string(nil), []string{folder}
			if p.base != "" {
				if got := validate(t, 1, folder); !strings.Contains(got.Errors[0].Message, p.script()+" does not exist") {
					t.Errorf("without its base: %+v", got.Errors)
				}
				base := filepath.Join(dir, p.base)
				options, dirs = []string{"--base", base}, []string{base, folder}
			}
			validate(t, 0, append(options, folder)...)
			p.checkImage(t, p.archive(t, dirs...))
			p.build(t, dirs...)
			p.try(t, folder, options)
		})
	}
}

func (p public) checkImage(t *testing.T, archive string) {
	t.Helper()
	if p.validate == "" {
		validate(t, 0, archive)
		return
	}
	if got := validate(t, 1, archive); len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Message, p.validate) {
		t.Errorf("got %+v, want %q alone", got.Errors, p.validate)
	}
}

// build makes the image as make package does, on its base if it has one. The tag is the version in config.json.
func (p public) build(t *testing.T, dirs ...string) {
	t.Helper()
	o := images.Options{
		Root: "../..", Out: filepath.Join(t.TempDir(), "images"), Package: dirs[len(dirs)-1], Repository: "registry.test/" + p.name,
		Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}, Log: t.Output(),
	}
	if len(dirs) > 1 {
		o.Base = dirs[0]
	}
	built, err := images.Build(t.Context(), o)
	must(t, err)
	if want := "registry.test/" + p.name + ":" + p.version; len(built) != 1 || built[0].Reference != want {
		t.Fatalf("built %+v, want %s", built, want)
	}
	validate(t, 0, built[0].Layout)
}

// try runs all modes, and is refused without the keys that the package needs.
func (p public) try(t *testing.T, folder string, options []string) {
	t.Helper()
	root := template.New(t)
	run := func(mode string, more ...string) (string, error) {
		args := slices.Concat([]string{"package", "run", "--root", root}, options, more, []string{folder, mode})
		out, err := exec.Command(program, args...).CombinedOutput()
		return string(out), err
	}
	key := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(key, []byte("h100"), 0o644))
	var keys []string
	for _, name := range p.keys {
		if out, err := run(p.modes[0], keys...); err == nil || !strings.Contains(out, "configMap lacks "+name) {
			t.Errorf("without %s: %v\n%s", name, err, out)
		}
		keys = append(keys, "--configmap", name+"="+key)
	}
	var called []string
	for _, mode := range p.modes {
		if out, err := run(mode, keys...); err != nil {
			t.Fatalf("%s: %v\n%s", mode, err, out)
		}
		called = append(called, mode)
		if !strings.HasSuffix(mode, "-check") {
			called = append(called, mode+"-check")
		}
	}
	if got := strings.Fields(string(read(t, filepath.Join(root, "etc/called")))); !slices.Equal(got, called) {
		t.Errorf("called %q, want %q", got, called)
	}
}

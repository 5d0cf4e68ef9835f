//go:build integration

package images

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/image/label"
)

// writePackage makes a package in root/packages/name; every file gets the given mode, and scripts may be executed by
// those who may read them.
func writePackage(t *testing.T, root, name string, files map[string]string, mode os.FileMode) {
	t.Helper()
	for file, content := range files {
		path := filepath.Join(root, "packages", name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := mode
		if strings.HasPrefix(content, "#!") {
			mode |= mode >> 2 & 0o111
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// configText is a config.json with one script for the given modes.
func configText(modes ...string) string {
	const step = `{"name": "run", "path": "run.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}`
	lists := make([]string, len(modes))
	for i, mode := range modes {
		lists[i] = `"` + mode + `": [` + step + `]`
	}
	return `{"schema_version": "v1", "package_name": "p", "package_version": "1.2.3", "expected_config_files": [], "modes": {` + strings.Join(lists, ", ") + `}}`
}

// validPackage has nothing that its author has to mend.
func validPackage() map[string]string {
	return map[string]string{"config.json": configText("apply", "apply-check"), "skyhook_dir/run.sh": "#!/bin/bash\n"}
}

func TestPackageTree(t *testing.T) {
	root := t.TempDir()
	writePackage(t, root, "p", map[string]string{
		"config.json":          `{"package_version": "1.2.3"}`,
		"skyhook_dir/apply.sh": "#!/bin/bash\n",
		"skyhook_dir/data.txt": "data",
		"root_dir/etc/p.conf":  "x=1",
		"profiles/h100/x.conf": "y=2",
		"defaults":             "z",
		"README.md":            "not part of the image",
		"Dockerfile":           "neither",
		".git/HEAD":            "nor this",
		"testdata/x":           "nor that",
	}, 0o600)
	dir := filepath.Join(root, "packages", "p")
	if err := os.Symlink("p.conf", filepath.Join(dir, "root_dir/etc/q.conf")); err != nil {
		t.Fatal(err)
	}
	got := must(packageTree(dir))(t)
	want := map[string]image.Entry{
		"skyhook-package/config.json":          image.File([]byte(`{"package_version": "1.2.3"}`)),
		"skyhook-package/skyhook_dir":          image.Folder(0o755),
		"skyhook-package/skyhook_dir/apply.sh": image.Program([]byte("#!/bin/bash\n")),
		"skyhook-package/skyhook_dir/data.txt": image.File([]byte("data")),
		"skyhook-package/profiles":             image.Folder(0o755),
		"skyhook-package/profiles/h100":        image.Folder(0o755),
		"skyhook-package/profiles/h100/x.conf": image.File([]byte("y=2")),
		"skyhook-package/defaults":             image.File([]byte("z")),
		"skyhook-package/root_dir":             image.Folder(0o755),
		"skyhook-package/root_dir/etc":         image.Folder(0o755),
		"skyhook-package/root_dir/etc/p.conf":  image.File([]byte("x=1")),
		"skyhook-package/root_dir/etc/q.conf":  image.Symlink("p.conf"),
	}
	if names, wanted := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, wanted) {
		t.Fatalf("got  %v\nwant %v", names, wanted)
	}
	for name, e := range want {
		g := got[name]
		if !reflect.DeepEqual(g, e) {
			t.Errorf("%s: got %+v, want %+v", name, g, e)
		}
	}
}

// TestPackageAsAnotherVersion: the tag and config.json say the same, and nothing else changes.
func TestPackageAsAnotherVersion(t *testing.T) {
	text := strings.Replace(configText("apply", "apply-check"), `"package_version":`, `"package_version" : `, 1)
	got := image.Tree{"skyhook-package/config.json": image.File([]byte(text))}
	if err := setVersion(got, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(text, "1.2.3", "1.1.0", 1); string(got["skyhook-package/config.json"].Content) != want {
		t.Errorf("got %s, want %s", got["skyhook-package/config.json"].Content, want)
	}
	o := Options{Root: t.TempDir(), Log: t.Output(), PackageVersion: "1.1.0"}
	writePackage(t, o.Root, "p", validPackage(), 0o644)
	o.Package = filepath.Join(o.Root, "packages/p")
	if r, err := givenRecipe(t.Context(), o); err != nil || r.version != "1.1.0" {
		t.Errorf("the tag is %q, error %v", r.version, err)
	}
	if err := setVersion(got, `"`); err == nil || !strings.Contains(err.Error(), "config.json does not take the version") {
		t.Errorf("got error %v", err)
	}
}

// TestWhatIsLeftOutIsSaid, and what cannot go into an image is refused.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	root := t.TempDir()
	files := validPackage()
	files["README.md"], files["testdata/x"] = "", ""
	writePackage(t, root, "p", files, 0o644)
	var log strings.Builder
	o := Options{Root: root, Log: &log, Package: filepath.Join(root, "packages/p")}
	if _, err := givenRecipe(t.Context(), o); err != nil || !strings.Contains(log.String(), "left out of the image: README.md, testdata\n") {
		t.Errorf("error %v, log %q", err, &log)
	}
	if err := syscall.Mkfifo(filepath.Join(o.Package, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := givenRecipe(t.Context(), o); err == nil || !strings.Contains(err.Error(), "p/pipe is neither a file nor a folder") {
		t.Errorf("error %v", err)
	}
}

// TestDerivedPackage: a package that has its scripts from another one, in a folder or an image.
func TestDerivedPackage(t *testing.T) {
	root := t.TempDir()
	below := validPackage()
	below["skyhook_dir/lib"], below["skyhook_dir/own.sh"] = "below", "#!/bin/bash\n# below\n"
	writePackage(t, root, "base", below, 0o644)
	writePackage(t, root, "p", map[string]string{
		"config.json": strings.Replace(configText("apply", "apply-check"), "1.2.3", "2.0.0", 1), "skyhook_dir/own.sh": "#!/bin/bash\n", "profiles/x": "x",
	}, 0o644)
	base, dir := filepath.Join(root, "packages/base"), filepath.Join(root, "packages/p")
	if _, err := givenRecipe(t.Context(), Options{Root: root, Log: t.Output(), Package: dir}); err == nil || !strings.Contains(err.Error(), "skyhook_dir/run.sh does not exist") {
		t.Errorf("without its base: %v", err)
	}
	o := Options{Root: root, Log: t.Output(), Package: dir, Base: base, Out: t.TempDir(), Platforms: AllPlatforms[:1]}
	d := must(derive(t.Context(), o, dir))(t)
	for name, content := range map[string]string{"skyhook_dir/lib": "below", "skyhook_dir/own.sh": "#!/bin/bash\n", "profiles/x": "x", "skyhook_dir/run.sh": "#!/bin/bash\n"} {
		if got := string(d.tree[packagePath+name].Content); got != content {
			t.Errorf("%s: got %q", name, got)
		}
	}

	o.Base = writeBase(t, base)
	o.Version, o.Revision, o.Repository = "v0", "r", "registry.test/p"
	results := must(Build(t.Context(), o))(t)
	found := must(image.FromLayout(t.Context(), results[0].Layout))(t)
	pkg, report, err := found.Lint(t.Context())
	if err != nil || len(report.Errors) != 0 || pkg.Version != "2.0.0" {
		t.Errorf("error %v, report %+v, package %+v", err, report, pkg)
	}
	o.Platforms = AllPlatforms
	if _, err := Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "linux/arm64: the base "+o.Base+" has no image for it") {
		t.Errorf("error %v", err)
	}
}

// writeBase writes an image for amd64 with a package, and with what it is copied with.
func writeBase(t *testing.T, dir string) string {
	t.Helper()
	content := must(packageTree(dir))(t)
	for _, name := range []string{"sh", "mkdir", "cp"} {
		content["bin/"+name] = image.Program([]byte("x"))
	}
	o := Options{Out: t.TempDir(), Platforms: AllPlatforms[:1]}
	result, err := build(t.Context(), o, recipe{
		name: "base", repository: "registry.test/base", version: "1.2.3",
		layers: func(context.Context, v1.Platform) ([]v1.Layer, error) {
			layer, err := content.Layer()
			return []v1.Layer{layer}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Layout
}

func TestPackageRecipes(t *testing.T) {
	const reference = "ghcr.io/skyhook-operator/skyhook-packages/p:1.2.3"
	tests := []struct {
		name, config, want, uninstall, err string
	}{
		{"good", configText("apply", "apply-check"), reference, "false", ""},
		{"steps that undo it", configText("apply", "apply-check", "uninstall", "uninstall-check"), reference, "true", ""},
		{"only a check of it", strings.Replace(configText("apply", "apply-check", "uninstall-check"), `"modes": {`, `"modes": {"uninstall": [], `, 1), reference, "false", ""},
		{"no version", strings.Replace(configText("apply", "apply-check"), "package_version", "version", 1), "", "", "config.json /package_version: is missing"},
		{"no check", configText("apply"), "", "", "config.json /modes/apply: has steps but nothing checks them"},
		{"not JSON", `{`, "", "", "config.json: not valid JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			files := validPackage()
			files["config.json"] = test.config
			writePackage(t, root, "p", files, 0o644)
			writePackage(t, root, "not-a-package", map[string]string{"README.md": ""}, 0o644)
			got, err := packageRecipes(Options{Root: root, Log: t.Output()})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.HasPrefix(err.Error(), filepath.Join(root, "packages/p: ")) {
					t.Fatalf("got error %v, want %q in it", err, test.err)
				}
				return
			}
			if err != nil || len(got) != 1 {
				t.Fatalf("got %d recipes, error %v", len(got), err)
			}
			if reference := got[0].repository + ":" + got[0].version; reference != test.want {
				t.Errorf("got %s, want %s", reference, test.want)
			}
			if says := got[0].labels[label.Uninstall]; says != test.uninstall {
				t.Errorf("the label says %q, want %q", says, test.uninstall)
			}
		})
	}
}

// TestInvalidPackageStopsNobodyElse: only what is asked for has to be valid.
func TestInvalidPackageStopsNobodyElse(t *testing.T) {
	root := t.TempDir()
	writePackage(t, root, "bad", map[string]string{"config.json": "{"}, 0o644)
	writePackage(t, root, "p", validPackage(), 0o644)
	o := Options{Root: root, Log: t.Output(), Only: []string{"p"}}
	if got, err := packageRecipes(o); err != nil || len(got) != 1 {
		t.Errorf("got %d recipes, error %v", len(got), err)
	}
	o.Only = nil
	if _, err := packageRecipes(o); err == nil {
		t.Error("an invalid package was built")
	}
}

func TestWarningsOfAPackageAreLogged(t *testing.T) {
	root := t.TempDir()
	files := validPackage()
	files["config.json"] = strings.Replace(files["config.json"], `"modes"`, `"packageName": "x", "modes"`, 1)
	writePackage(t, root, "p", files, 0o644)
	var log strings.Builder
	if _, err := packageRecipes(Options{Root: root, Log: &log}); err != nil || !strings.Contains(log.String(), "packages/p: config.json /packageName: ") {
		t.Errorf("error %v, log %q", err, &log)
	}
}

// TestGivenPackage: a folder anywhere, and what its image is called.
func TestGivenPackage(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	writePackage(t, root, "p", validPackage(), 0o644)
	writePackage(t, elsewhere, "q", validPackage(), 0o644)
	p, q := filepath.Join(root, "packages/p"), filepath.Join(elsewhere, "packages/q")
	tests := map[string]struct {
		o                     Options
		repository, file, url string
	}{
		"one of ours":          {Options{Package: p}, "ghcr.io/skyhook-operator/skyhook-packages/p", "p", Source},
		"its config.json":      {Options{Package: p + "/config.json"}, "ghcr.io/skyhook-operator/skyhook-packages/p", "p", Source},
		"one of ours, renamed": {Options{Package: p, Name: "x"}, "ghcr.io/skyhook-operator/skyhook-packages/x", "x", Source},
		"one of others":        {Options{Package: q}, "localhost/q", "q", ""},
		"renamed":              {Options{Package: q + "/", Name: "x"}, "localhost/x", "x", ""},
		"with a repository":    {Options{Package: q, Repository: "registry.test/team/q"}, "registry.test/team/q", "q", ""},
		"with both":            {Options{Package: q, Name: "x", Repository: "registry.test/team/q"}, "registry.test/team/q", "x", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.o.Root, test.o.Log = root, t.Output()
			got, err := recipes(t.Context(), test.o)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %d recipes, error %v", len(got), err)
			}
			r := got[0]
			if r.repository != test.repository || r.name != test.file || r.source != test.url || r.version != "1.2.3" || (r.licenses == "") != (test.url == "") {
				t.Errorf("got %+v", r)
			}
		})
	}
	for _, dir := range []string{filepath.Join(root, "none"), root} {
		if _, err := recipes(t.Context(), Options{Root: root, Package: dir, Log: t.Output()}); err == nil || !strings.HasPrefix(err.Error(), dir+": ") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestOurPackageImagesAreValid: wherever they are found, and with the version in their config.json as tag.
func TestOurPackageImagesAreValid(t *testing.T) {
	configs, err := filepath.Glob("../../packages/*/config.json")
	if err != nil || len(configs) == 0 {
		t.Fatalf("packages %v, error %v", configs, err)
	}
	o := Options{Root: "../..", Out: filepath.Join(t.TempDir(), "images"), Revision: "abc", Log: t.Output()}
	for _, config := range configs {
		o.Only = append(o.Only, filepath.Base(filepath.Dir(config)))
	}
	results, err := Build(t.Context(), o)
	if err != nil || len(results) != len(configs) {
		t.Fatalf("built %d images, error %v", len(results), err)
	}
	for _, r := range results {
		for place, find := range map[string]func() (*image.Image, error){
			"as built":   func() (*image.Image, error) { return image.FromIndex(r.Reference, r.Index) },
			"in layout":  func() (*image.Image, error) { return image.FromLayout(t.Context(), r.Layout) },
			"in archive": func() (*image.Image, error) { return image.FromArchive(t.Context(), r.Tarballs[1]) },
		} {
			t.Run(r.Name+" "+place, func(t *testing.T) {
				found := must(find())(t)
				pkg, report, err := found.Lint(t.Context())
				if err != nil || len(report.Errors)+len(report.Warnings) != 0 {
					t.Fatalf("error %v, report %+v", err, report)
				}
				if pkg.Version != r.Version || !strings.HasSuffix(r.Reference, ":"+pkg.Version) {
					t.Errorf("version %s is in an image called %s", pkg.Version, r.Reference)
				}
			})
		}
	}
}

// TestOurPackagesSayWhetherTheyCanBeUninstalled: however their images are built.
func TestOurPackagesSayWhetherTheyCanBeUninstalled(t *testing.T) {
	const root = "../.."
	recipes, err := packageRecipes(Options{Root: root, Log: t.Output()})
	if err != nil || len(recipes) == 0 {
		t.Fatalf("got %d recipes, error %v", len(recipes), err)
	}
	for _, r := range recipes {
		says := label.Uninstall + "=" + r.labels[label.Uninstall]
		dockerfile, err := os.ReadFile(filepath.Join(root, "packages", r.name, "Dockerfile"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || !bytes.Contains(dockerfile, []byte(says)) {
			t.Errorf("the Dockerfile of %s does not set %s (error %v)", r.name, says, err)
		}
		if r.name == "shellscript" && says != label.Uninstall+"=true" {
			t.Errorf("%s has uninstall steps, but its image says %s", r.name, says)
		}
	}
}

// TestWithoutApt: what is missing, and what for.
func TestWithoutApt(t *testing.T) {
	o := testPackage(t, 0o600)
	o.Cache = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "apt-get was not found: package images need it for") {
		t.Errorf("got %v", err)
	}
}

package images

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/capability"
)

// writePackage makes a package in root/packages/name; every file gets the given mode.
func writePackage(t *testing.T, root, name string, files map[string]string, mode os.FileMode) {
	t.Helper()
	for file, content := range files {
		path := filepath.Join(root, "packages", name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPackageTree(t *testing.T) {
	root := t.TempDir()
	writePackage(t, root, "p", map[string]string{
		"config.json":          `{"package_version": "1.2.3"}`,
		"skyhook_dir/apply.sh": "#!/bin/bash\n",
		"skyhook_dir/data.txt": "data",
		"root_dir/etc/p.conf":  "x=1",
		"README.md":            "not part of the image",
	}, 0o600)
	dir := filepath.Join(root, "packages", "p")
	if err := os.Symlink("p.conf", filepath.Join(dir, "root_dir/etc/q.conf")); err != nil {
		t.Fatal(err)
	}
	got, err := packageTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]entry{
		"skyhook-package/config.json":          file([]byte(`{"package_version": "1.2.3"}`)),
		"skyhook-package/skyhook_dir":          folder(0o755),
		"skyhook-package/skyhook_dir/apply.sh": program([]byte("#!/bin/bash\n")),
		"skyhook-package/skyhook_dir/data.txt": file([]byte("data")),
		"skyhook-package/root_dir":             folder(0o755),
		"skyhook-package/root_dir/etc":         folder(0o755),
		"skyhook-package/root_dir/etc/p.conf":  file([]byte("x=1")),
		"skyhook-package/root_dir/etc/q.conf":  symlink("p.conf"),
	}
	if names, wanted := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, wanted) {
		t.Fatalf("got  %v\nwant %v", names, wanted)
	}
	for name, e := range want {
		g := got[name]
		if !bytes.Equal(g.content, e.content) || g.mode != e.mode || g.link != e.link || g.dir != e.dir {
			t.Errorf("%s: got %+v, want %+v", name, g, e)
		}
	}
}

func TestPackageRecipes(t *testing.T) {
	tests := []struct {
		name, config, want, uninstall, err string
	}{
		{"good", `{"package_version": "1.2.3"}`, "ghcr.io/skyhook-operator/skyhook-packages/p:1.2.3", "false", ""},
		{"steps that undo it", `{"package_version": "1.2.3", "modes": {"apply": [{}], "uninstall": [{"name": "x"}]}}`, "ghcr.io/skyhook-operator/skyhook-packages/p:1.2.3", "true", ""},
		{"only a check of it", `{"package_version": "1.2.3", "modes": {"uninstall": [], "uninstall-check": [{}]}}`, "ghcr.io/skyhook-operator/skyhook-packages/p:1.2.3", "false", ""},
		{"no version", `{}`, "", "", "field package_version is missing"},
		{"not JSON", `{`, "", "", "parse "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			writePackage(t, root, "p", map[string]string{"config.json": test.config}, 0o644)
			writePackage(t, root, "not-a-package", map[string]string{"README.md": ""}, 0o644)
			got, err := packageRecipes(Options{Root: root})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
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
			if label := got[0].labels[capability.Label]; label != test.uninstall {
				t.Errorf("the label says %q, want %q", label, test.uninstall)
			}
		})
	}
}

// TestOurPackagesSayWhetherTheyCanBeUninstalled: however their images are built.
func TestOurPackagesSayWhetherTheyCanBeUninstalled(t *testing.T) {
	const root = "../.."
	recipes, err := packageRecipes(Options{Root: root})
	if err != nil || len(recipes) == 0 {
		t.Fatalf("got %d recipes, error %v", len(recipes), err)
	}
	for _, r := range recipes {
		label := capability.Label + "=" + r.labels[capability.Label]
		dockerfile, err := os.ReadFile(filepath.Join(root, "packages", r.name, "Dockerfile"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || !bytes.Contains(dockerfile, []byte(label)) {
			t.Errorf("the Dockerfile of %s does not set %s (error %v)", r.name, label, err)
		}
		if r.name == "shellscript" && label != capability.Label+"=true" {
			t.Errorf("%s has uninstall steps, but its image says %s", r.name, label)
		}
	}
}

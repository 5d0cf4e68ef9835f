package workload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// copier runs the copy container's command, with its fixed folders moved to a temporary place.
type copier struct {
	*testing.T
	// image is the image's folder, keys the mount of the configMap, dir the copy on the host.
	image, keys, dir, host string
}

func newCopier(t *testing.T) copier {
	host, at := t.TempDir(), t.TempDir()
	c := copier{t, filepath.Join(at, "image"), filepath.Join(at, "keys"), filepath.Join(host, "var/lib/skyhook/demo/tuning"), host}
	write(t, filepath.Join(c.image, "config.json"), "{}")
	return c
}

func (c copier) run() {
	c.Helper()
	command := build(c.T, options, task(c.T, "tuning")).Spec.InitContainers[0].Command
	script := strings.NewReplacer("/root/", c.host+"/", "/skyhook-package", c.image, "/skyhook-configmap", c.keys).Replace(command[2])
	cmd := exec.Command(command[0], command[1], script)
	cmd.Env = append(os.Environ(), "SKYHOOK_DIR=/var/lib/skyhook/demo/tuning")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
}

func (c copier) want(name, content string) {
	c.Helper()
	if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(got) != content {
		c.Errorf("%s is %q, %v; want %q", name, got, err, content)
	}
}

func (c copier) absent(name string) {
	c.Helper()
	if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil {
		c.Errorf("%s is still there", name)
	}
}

// mount takes the place of an earlier mount, as in the pod of the next stage.
func (c copier) mount(dir, stamp string, data map[string]string) {
	c.Helper()
	if err := os.RemoveAll(dir); err != nil {
		c.Fatal(err)
	}
	if data != nil {
		mountConfigMap(c.T, dir, stamp, data)
	}
}

// TestCopyCommand upon mounts as the kubelet makes them: a ConfigMap is a tree of links that is swapped as a whole.
func TestCopyCommand(t *testing.T) {
	c := newCopier(t)
	metadata := filepath.Join(c.image, "node-metadata")
	write(t, filepath.Join(c.image, "skyhook_dir/apply.sh"), "v1")
	c.mount(c.keys, "..2026_01", map[string]string{"level": "3", "gone": "x", ".hidden": "h"})
	c.mount(metadata, "..2026_01", map[string]string{"labels.json": "{}"})
	c.run()
	c.want("skyhook_dir/apply.sh", "v1")
	c.want("config.json", "{}")
	c.want("configmaps/level", "3")
	c.want("configmaps/.hidden", "h")
	c.want("node-metadata/labels.json", "{}")

	// The next stage: another ConfigMap, and a file that a step left on the host.
	write(t, filepath.Join(c.dir, "skyhook_dir/state"), "kept")
	write(t, filepath.Join(c.dir, "configmaps/state"), "kept")
	c.mount(c.keys, "..2026_02", map[string]string{"level": "4"})
	c.mount(metadata, "..2026_02", map[string]string{"labels.json": `{"a":"b"}`})
	for range 2 { // the same stage once more
		c.run()
		c.want("configmaps/level", "4")
		c.want("node-metadata/labels.json", `{"a":"b"}`)
		c.want("skyhook_dir/state", "kept")
		c.want("configmaps/state", "kept")
		c.absent("configmaps/gone")
		c.absent("configmaps/.hidden")
		if info, err := os.Stat(filepath.Join(c.dir, "configmaps")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("everybody on the host may read the configMap: %v, %v", info.Mode(), err)
		}
	}
}

// TestCopyCommandPutsKeysOverTheImage: they hide the image's files of their names alone, and no longer than they are set.
func TestCopyCommandPutsKeysOverTheImage(t *testing.T) {
	c := newCopier(t)
	for _, name := range []string{"default", "level", ".hidden", "folder/x"} {
		write(t, filepath.Join(c.image, "configmaps", name), "image")
	}
	c.mount(c.keys, "..2026_01", map[string]string{"level": "key", ".hidden": "key", "folder": "key"})
	for range 2 {
		c.run()
		c.want("configmaps/default", "image")
		c.want("configmaps/level", "key")
		c.want("configmaps/.hidden", "key")
		c.want("configmaps/folder", "key")
	}
	c.mount(c.keys, "..2026_02", map[string]string{"other": "key"})
	c.run()
	c.want("configmaps/level", "image")
	c.want("configmaps/.hidden", "image")
	c.want("configmaps/folder/x", "image")
	c.want("configmaps/other", "key")
	c.mount(c.keys, "", nil)
	c.run()
	c.want("configmaps/level", "image")
	c.absent("configmaps/other")
}

// TestCopyCommandAfterAnEarlierOperator, whose pods mounted the keys upon the image's folder.
func TestCopyCommandAfterAnEarlierOperator(t *testing.T) {
	c := newCopier(t)
	mountConfigMap(t, filepath.Join(c.dir, "configmaps"), "..2025_12", map[string]string{"level": "3", "gone": "x"})
	write(t, filepath.Join(c.image, "configmaps/level"), "image")
	c.mount(c.keys, "..2026_01", map[string]string{"other": "key"})
	c.run()
	c.want("configmaps/level", "image")
	c.want("configmaps/other", "key")
	c.absent("configmaps/gone")
}

// TestCopyCommandLeadsNowhereElse: a configMap is not written through a link of the image.
func TestCopyCommandLeadsNowhereElse(t *testing.T) {
	c := newCopier(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(c.image, "configmaps")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(elsewhere, "..data"), "of the host")
	c.mount(c.keys, "..2026_01", map[string]string{"level": "3"})
	for range 2 {
		c.run()
		c.want("configmaps/level", "3")
	}
	c.mount(c.keys, "", nil)
	for range 2 {
		c.run()
		if to, err := os.Readlink(filepath.Join(c.dir, "configmaps")); err != nil || to != elsewhere {
			t.Errorf("the image's link is %q, %v", to, err)
		}
	}
	if found, err := os.ReadDir(elsewhere); err != nil || len(found) != 1 {
		t.Errorf("the folder that the link leads to has %v, %v", found, err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// mountConfigMap lays files out like the kubelet: data in a folder of this time, a link ..data to it, a link per key.
func mountConfigMap(t *testing.T, dir, stamp string, data map[string]string) {
	t.Helper()
	links := map[string]string{"..data": stamp}
	for key, value := range data {
		write(t, filepath.Join(dir, stamp, key), value)
		links[key] = "..data/" + key
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

package workload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopyCommand runs the copy container's command, with its two fixed folders moved to a temporary place, upon mounts
// as the kubelet makes them: a ConfigMap is a tree of links that is swapped as a whole.
func TestCopyCommand(t *testing.T) {
	host, image := t.TempDir(), filepath.Join(t.TempDir(), "skyhook-package")
	command := build(t, options, task(t, "tuning")).Spec.InitContainers[0].Command
	script := strings.NewReplacer("/root/", host+"/", "/skyhook-package", image).Replace(command[2])
	run := func() {
		t.Helper()
		c := exec.Command(command[0], command[1], script)
		c.Env = append(os.Environ(), "SKYHOOK_DIR=/var/lib/skyhook/demo/tuning")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	dir := filepath.Join(host, "var/lib/skyhook/demo/tuning")
	want := func(name, content string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s is %q, %v; want %q", name, got, err, content)
		}
	}

	write(t, filepath.Join(image, "skyhook_dir/apply.sh"), "v1")
	write(t, filepath.Join(image, "config.json"), "{}")
	mountConfigMap(t, filepath.Join(image, "configmaps"), "..2026_01", map[string]string{"level": "3", "gone": "x"})
	mountConfigMap(t, filepath.Join(image, "node-metadata"), "..2026_01", map[string]string{"labels.json": "{}"})
	run()
	want("skyhook_dir/apply.sh", "v1")
	want("config.json", "{}")
	want("configmaps/level", "3")
	want("node-metadata/labels.json", "{}")

	// The next stage: another ConfigMap, and a file that a step left on the host.
	write(t, filepath.Join(dir, "skyhook_dir/state"), "kept")
	write(t, filepath.Join(dir, "configmaps/state"), "kept")
	for _, name := range []string{"configmaps", "node-metadata"} {
		if err := os.RemoveAll(filepath.Join(image, name)); err != nil {
			t.Fatal(err)
		}
	}
	mountConfigMap(t, filepath.Join(image, "configmaps"), "..2026_02", map[string]string{"level": "4"})
	mountConfigMap(t, filepath.Join(image, "node-metadata"), "..2026_02", map[string]string{"labels.json": `{"a":"b"}`})
	run()
	want("configmaps/level", "4")
	want("node-metadata/labels.json", `{"a":"b"}`)
	want("skyhook_dir/state", "kept")
	want("configmaps/state", "kept")
	if _, err := os.Stat(filepath.Join(dir, "configmaps/gone")); err == nil {
		t.Error("a key that left the ConfigMap can still be read")
	}
	if info, err := os.Stat(filepath.Join(dir, "configmaps")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("everybody on the host may read the configMap: %v, %v", info.Mode(), err)
	}
	run() // the same stage once more
	want("configmaps/level", "4")
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

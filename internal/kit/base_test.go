//go:build integration

package kit_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// TestBase: a package derived from another one has its scripts from there, be that a folder or an image.
func TestBase(t *testing.T) {
	r := newTrial(t)
	r.stage("config", "echo base > /etc/seen; . $STEP_ROOT/lib.sh")
	r.put("motd/skyhook_dir/lib.sh", "echo base >> /etc/seen")
	r.save()
	read := func(name string) string {
		raw, err := os.ReadFile(r.file("motd", name))
		r.Must(err)
		return string(raw)
	}
	files := map[string]string{}
	for _, name := range []string{"config.json", "skyhook_dir/config.sh", "skyhook_dir/config-check.sh", "skyhook_dir/lib.sh"} {
		files[name] = read(name)
	}
	path, err := layout.Write(r.file("base"), empty.Index)
	r.Must(err)
	r.Must(path.AppendImage(r.imageOf(runtime.GOARCH, files)))
	r.put("mine/skyhook_dir/lib.sh", "echo mine >> /etc/seen")
	r.put("mine/config.json", strings.Replace(read("config.json"), `"motd"`, `"my_motd"`, 1))
	if ran := r.run("validate", r.file("mine")); ran.Code != 1 || !strings.Contains(ran.Stdout, "skyhook_dir/config.sh does not exist") {
		t.Errorf("without its base: %+v", ran)
	}
	for _, base := range []string{r.file("motd"), r.file("motd/config.json"), r.file("base")} {
		if ran := r.run("validate", "--base", base, r.file("mine")); ran.Code != 0 || !strings.Contains(ran.Stdout, "package my_motd 1.0.0") {
			t.Errorf("%s: %+v", base, ran)
		}
		r.Write("/etc/seen", "")
		if ran := r.run("run", "--root", r.Root, "--base", base, r.file("mine"), "config"); ran.Code != 0 {
			t.Fatalf("%s: %+v", base, ran)
		}
		r.ExpectLines("/etc/seen", "base", "mine")
	}
	for base, want := range map[string]string{
		r.file("none"): "no such file", r.file("mine/config.json.x"): "no such file", "registry.invalid/x:1": "taken for an image",
	} {
		if ran := r.run("validate", "--base", base, r.file("mine")); ran.Code != 1 || !strings.Contains(ran.Stderr, want) {
			t.Errorf("%s: %+v", base, ran)
		}
	}
	if ran := r.run("validate", "--base", r.file("motd"), r.file("base")); ran.Code != 1 || !strings.Contains(ran.Stderr, "leave out --base") {
		t.Errorf("of an image: %+v", ran)
	}
}

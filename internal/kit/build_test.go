//go:build integration

package kit_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestBuild a package from its folder to what to do next.
func TestBuild(t *testing.T) {
	a := newAuthor(t)
	a.must(os.CopyFS(a.path("motd"), os.DirFS("../../packages/shellscript")))
	for _, name := range []string{"PATH", "HOME", "SKYHOOK_CACHE"} { // for Debian's packages
		a.env[name] = os.Getenv(name)
	}
	args := []string{"build", "--out", a.path("images"), "--platform", "linux/" + runtime.GOARCH}
	r := a.run(append(args, "--repository", "registry.test/team/motd", a.path("motd"))...)
	archive, layout := a.path("images", "motd-1.2.0-linux-"+runtime.GOARCH+".tar"), a.path("images/motd")
	for _, want := range []string{
		"registry.test/team/motd", " MB  sha256:", "crane push " + layout + " registry.test/team/motd:1.2.0",
		"docker load -i " + archive, "images import " + archive, "skyhook package validate " + layout,
	} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.code, want, r.stdout, r.stderr)
		}
	}
	for _, what := range []string{layout, archive} {
		if r := a.run("validate", what); r.code != 0 || !strings.Contains(r.stdout, "package shellscript 1.2.0") {
			t.Errorf("%s: %+v", what, r)
		}
	}
	a.must(os.Remove(a.path("motd/skyhook_dir/shellscript_run.sh")))
	if r := a.run(append(args, a.path("motd"))...); r.code != 1 || !strings.Contains(r.stderr, "/modes/apply/0/path: ") {
		t.Errorf("a package without its script: %+v", r)
	}
}

func TestBuildRefuses(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	a.env["HOME"] = a.root
	dir := a.path(packageDir)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":         {nil, 2, "wants one package folder, not 0"},
		"platform":        {[]string{"--platform", "a/b/c/d", dir}, 2, "--platform: "},
		"no such package": {[]string{a.path("none")}, 1, "find the package: "},
		"into itself":     {[]string{"--out", filepath.Join(dir, "dist"), dir}, 1, "must not be in the package; name one outside of it with --out"},
		"its config.json": {[]string{"--out", dir, filepath.Join(dir, "config.json")}, 1, "must not be in the package"},
	} {
		if r := a.run(append([]string{"build"}, c.args...)...); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want %q", name, r, c.want)
		}
	}
	if a.has(packageDir, "dist") {
		t.Error("the refused folder is there")
	}
}

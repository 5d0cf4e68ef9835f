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
	a.Must(os.CopyFS(a.Path("motd"), os.DirFS("../../packages/shellscript")))
	for _, name := range []string{"PATH", "HOME", "SKYHOOK_CACHE"} { // for Debian's packages
		a.Env[name] = os.Getenv(name)
	}
	args := []string{"build", "--out", a.Path("images"), "--platform", "linux/" + runtime.GOARCH}
	r := a.run(append(args, "--repository", "registry.test/team/motd", a.Path("motd"))...)
	archive, layout := a.Path("images", "motd-1.2.0-linux-"+runtime.GOARCH+".tar"), a.Path("images/motd")
	for _, want := range []string{
		"registry.test/team/motd", " MB  sha256:", "crane push " + layout + " registry.test/team/motd:1.2.0",
		"docker load -i " + archive, "images import " + archive, "skyhook package validate " + layout,
	} {
		if r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.Code, want, r.Stdout, r.Stderr)
		}
	}
	for _, what := range []string{layout, archive} {
		if r := a.run("validate", what); r.Code != 0 || !strings.Contains(r.Stdout, "package shellscript 1.2.0") {
			t.Errorf("%s: %+v", what, r)
		}
	}
	a.Must(os.Remove(a.Path("motd/skyhook_dir/shellscript_run.sh")))
	if r := a.run(append(args, a.Path("motd"))...); r.Code != 1 || !strings.Contains(r.Stderr, "/modes/apply/0/path: ") {
		t.Errorf("a package without its script: %+v", r)
	}
}

func TestBuildRefuses(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	a.Env["HOME"] = a.Root
	dir := a.Path(packageDir)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":         {nil, 2, "wants one package folder, not 0"},
		"platform":        {[]string{"--platform", "a/b/c/d", dir}, 2, "--platform: "},
		"no such package": {[]string{a.Path("none")}, 1, "find the package: "},
		"into itself":     {[]string{"--out", filepath.Join(dir, "dist"), dir}, 1, "must not be in the package; name one outside of it with --out"},
		"its config.json": {[]string{"--out", dir, filepath.Join(dir, "config.json")}, 1, "must not be in the package"},
	} {
		if r := a.run(append([]string{"build"}, c.args...)...); r.Code != c.code || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("%s: %+v, want %q", name, r, c.want)
		}
	}
	if a.Has(packageDir, "dist") {
		t.Error("the refused folder is there")
	}
}

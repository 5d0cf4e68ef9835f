package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPackage of a folder that is not of this repository, from folder to what to do next.
func TestPackage(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "motd"), filepath.Join(t.TempDir(), "images")
	if err := os.CopyFS(dir, os.DirFS("../../../../packages/shellscript")); err != nil {
		t.Fatal(err)
	}
	platform := "linux/" + runtime.GOARCH
	args := []string{"-root", "../../../..", "-out", out, "-package", dir, "-platform", platform}
	var stdout strings.Builder
	if err := run(t.Context(), append(args, "-repository", "registry.test/team/motd"), &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(out, "motd-1.2.0-linux-"+runtime.GOARCH+".tar")
	for _, want := range []string{
		"registry.test/team/motd", " MB  sha256:", "crane push " + filepath.Join(out, "motd") + " registry.test/team/motd:1.2.0",
		"docker load -i " + archive, "images import " + archive, "skyhook-agent validate " + filepath.Join(out, "motd"),
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	if _, err := os.Stat(archive); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "skyhook_dir/shellscript_run.sh")); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), args, &stdout, t.Output()); err == nil || !strings.Contains(err.Error(), "/modes/apply/0/path: ") {
		t.Errorf("a package without its script: %v", err)
	}
}

func TestWrongPlatform(t *testing.T) {
	if err := run(t.Context(), []string{"-platform", "a/b/c/d"}, t.Output(), t.Output()); err == nil || !strings.Contains(err.Error(), "flag -platform") {
		t.Errorf("got %v", err)
	}
}

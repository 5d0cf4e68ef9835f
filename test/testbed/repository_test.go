//go:build linux && integration

package testbed

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debianPackage builds a package that holds nothing.
func debianPackage(t *testing.T, dir, name, version string) {
	t.Helper()
	source := t.TempDir()
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody\nDescription: empty\n", name, version)
	if err := writeBelow(source, "DEBIAN/control", []byte(control)); err != nil {
		t.Fatal(err)
	}
	// An epoch's colon is escaped in the names of apt's downloads.
	file := filepath.Join(dir, name+"_"+strings.ReplaceAll(version, ":", "%3a")+"_all.deb")
	if err := outputInError(exec.Command("dpkg-deb", "--build", source, file)); err != nil {
		t.Fatal(err)
	}
}

func TestIndexPackages(t *testing.T) {
	dir := t.TempDir()
	debianPackage(t, dir, "first", "1:2.0-1")
	debianPackage(t, dir, "second", "3")
	if err := indexPackages(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	// Apt itself says whether this is a repository.
	state := t.TempDir()
	source := filepath.Join(state, "sources.list")
	if err := os.WriteFile(source, []byte("deb [trusted=yes] file:"+dir+" ./\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	apt := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("apt-get", append([]string{
			"-o", "Dir::Etc::sourcelist=" + source, "-o", "Dir::Etc::sourceparts=-", "-o", "Dir::State=" + state,
			"-o", "Dir::Cache=" + state, "-o", "APT::Sandbox::User=root",
		}, args...)...)
		cmd.Dir = state
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "W:") {
			t.Fatalf("apt-get %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	apt("update")
	for _, want := range []string{"first=1:2.0-1", "second=3"} {
		apt("download", want)
	}
}

func TestIndexSums(t *testing.T) {
	dir := t.TempDir()
	debianPackage(t, dir, "first", "1")
	if err := indexPackages(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	index := must(os.ReadFile(filepath.Join(dir, "Packages")))(t)
	file := must(os.ReadFile(filepath.Join(dir, "first_1_all.deb")))(t)
	if want := fmt.Sprintf("Size: %d\nSHA256: %x\n", len(file), sha256.Sum256(file)); !strings.Contains(string(index), want) {
		t.Errorf("index\n%swant in it\n%s", index, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.deb"), []byte("no package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := indexPackages(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "broken.deb") {
		t.Errorf("a broken file: %v", err)
	}
}

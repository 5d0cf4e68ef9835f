//go:build nightly

package tutorial

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const repository = "../.."

// TestPackage does what the tutorial for authors of packages says: each command block, one after the other, as one would
// in a shell.
func TestPackage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the tutorial tries a package on this machine, which needs root")
	}
	raw, err := os.ReadFile(repository + "/docs/tutorials/package.md")
	if err != nil {
		t.Fatal(err)
	}
	// The folder that the tutorial works in is one of this test.
	page := strings.ReplaceAll(string(raw), "/tmp/tutorial", t.TempDir())
	if err := Follow(t.Context(), Blocks(page), copyRepository(t)); err != nil {
		t.Error(err)
	}
}

// copyRepository makes a copy to build in, of the files as they are now.
func copyRepository(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	names, err := list.Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "skyhook")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(repository, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("copy the repository: %v", err)
		}
	}
	return dir
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil || info.IsDir() {
		return err
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, raw, info.Mode())
}

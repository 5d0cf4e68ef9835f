//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInPlace: a command runs in a folder of its own clone, at a path that is the same for all, and so is PATH.
func TestInPlace(t *testing.T) {
	mine := t.TempDir()
	t.Setenv("PATH", mine+":"+os.Getenv("PATH"))
	place := filepath.Join(t.TempDir(), "place")
	for _, content := range []string{"one", "two"} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("file", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args := inPlace(place, []string{"sh", "-c", `printf '%s ' "$PWD" "$1"; cat file; echo " $PATH"`, "sh", "a b"})
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		want := place + " a b " + content + " "
		if err != nil || !strings.HasPrefix(string(out), want) || strings.Contains(string(out), mine) {
			t.Errorf("got %q, %v, want %q", out, err, want)
		}
		if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
			t.Errorf("others see %v, %v", left, err)
		}
	}
}

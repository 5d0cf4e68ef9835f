//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInPlace: a command runs in a folder of its own clone, at a path that is the same for all.
func TestInPlace(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	for _, content := range []string{"one", "two"} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("file", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args := inPlace(place, []string{"sh", "-c", `printf %s "$PWD $1 "; cat file`, "sh", "a b"})
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if want := place + " a b " + content; err != nil || string(out) != want {
			t.Errorf("got %q, %v, want %q", out, err, want)
		}
		if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
			t.Errorf("others see %v, %v", left, err)
		}
	}
}

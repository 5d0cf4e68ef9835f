//go:build integration

package tuned_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatAptTellsOnAFullDisk: bash before 5.1 needs a temporary file for a
// here-string. Without one, a plan that removes others' packages looked empty.
func TestWhatAptTellsOnAFullDisk(t *testing.T) {
	full := t.TempDir()
	if err := syscall.Mount("test", full, "tmpfs", 0, "nr_inodes=1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(full, syscall.MNT_DETACH) })
	for plan, want := range map[string]string{
		"NOTE: a simulation\nPurg tuned [2.20]\nRemv python3-x [1.0]": "yes",
		"Purg tuned [2.20]\nRemv python3-x [1.0]\nRemv theirs [1.0]":  "no",
		"Purg tuned [2.20]\nInst other (1.0)":                         "no",
	} {
		script := `set -Eeo pipefail; . skyhook_dir/parts/say.sh; . skyhook_dir/parts/apt.sh; apt-get() { echo "${PLAN}"; }
			if apt_can_remove tuned python3-x; then echo yes; else echo no; fi`
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = append(os.Environ(), "PLAN="+plan, "TMPDIR="+full, "BASH_COMPAT=50")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want+"\n" {
			t.Errorf("%q: %s, %v", plan, out, err)
		}
	}
}

// TestNothingIsReadFromAHereDocument, for the same reason.
func TestNothingIsReadFromAHereDocument(t *testing.T) {
	for _, pattern := range []string{"skyhook_dir/*.sh", "skyhook_dir/parts/*.sh", "../*/skyhook_dir/*.sh"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(raw)) {
				if strings.Contains(line, "<<") && !strings.Contains(line, "((") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					t.Errorf("%s: %s", file, line)
				}
			}
		}
	}
}

//go:build integration

package available

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFresh: targets are made of what is committed, with empty caches, up to the first that fails, and nothing is left.
func TestFresh(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		t.Helper()
		name := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile(filepath.Join(root, "tools/fresh"))
	if err != nil {
		t.Fatal(err)
	}
	const demo = "demo:\n\t@for d in $$SKYHOOK_CACHE $$(go env GOCACHE GOMODCACHE); do case $$d in $$TMPDIR/*) ;; *) exit 1;; esac; done\n" +
		"\t@mkdir $$SKYHOOK_CACHE $$SKYHOOK_CACHE/testbed-state\n"
	write("Makefile", demo+"broken:\n\tfalse\ntestbed-down:\n\t@echo down\n")
	write("tools/fresh", string(script))
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e@example.test", "commit", "--quiet", "--message=m"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	write("Makefile", "demo:\n\tfalse\n") // in no commit

	t.Setenv("TMPDIR", temporary)
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "tools/fresh"), "demo", "broken", "demo").CombinedOutput()
	want := regexp.MustCompile(`(?s)With empty caches:
make demo           passed in 0 min \d\d s
make broken         failed in 0 min \d\d s
.*down\n`)
	if err == nil || !want.Match(out) || strings.Count(string(out), "make demo") != 1 {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

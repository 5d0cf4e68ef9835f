//go:build integration

package changelog

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// want is what follows the heading for the history of TestChangelog.
const want = `
## v0.2.0

### Breaking changes

- **operator**: permits have another form

### Features

- **agent**: a step has a time limit

### Fixes

- the version is told
- **operator**: the second fix
- **operator**: a name such as status_&lt;S> is shown

## v0.1.0 (2026-01-02)

### Features

- **chart**: first chart
`

// TestChangelog: users see what they can notice, by version, and nothing else.
func TestChangelog(t *testing.T) {
	dir := repository(t)
	commit(t, dir, "feat(chart): first chart")
	commit(t, dir, "fix(chart): nobody had what this fixes")
	git(t, dir, "tag", "v0.1.0")
	commit(t, dir, "fix(node): a name such as status_<S> is shown")
	commit(t, dir, "fix: the version is told")
	commit(t, dir, "feat(agent): a step has a time limit")
	commit(t, dir, "refactor(record)!: permits have another form")
	commit(t, dir, "fix(rollout): the second fix")
	commit(t, dir, "fix(testbed): only for developers")
	commit(t, dir, "fix(agent): of something new\n\nWhy.\n\nChangelog: none")
	commit(t, dir, "test(agent): no feature")
	commit(t, dir, "no conventional subject")

	if diff := cmp.Diff(want, changelog(t, dir, "v0.2.0")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := changelog(t, dir, "v0.1.0"); !strings.Contains(got, "## Unreleased\n") {
		t.Errorf("what came after the version's own tag is not unreleased:\n%s", got)
	}
}

// TestCorrections: a subject can get other words or be left out after it was merged, and a correction of nothing is told.
func TestCorrections(t *testing.T) {
	dir := repository(t)
	commit(t, dir, "feat(agent): a step is taken back")
	commit(t, dir, "feat(agent): a step is taken back twice")
	commit(t, dir, "feat(agent): nobody notices this")
	correct(t, dir, `# comment

feat(agent): a step is taken back => feat(operator): a step is reversed
feat(agent): nobody notices this => none
`)
	const want = `
## v0.1.0

### Features

- **agent**: a step is taken back twice
- **operator**: a step is reversed
`
	if diff := cmp.Diff(want, changelog(t, dir, "v0.1.0")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	correct(t, dir, "feat(agent): a step => feat(agent): a stage\n")
	out, err := exec.CommandContext(t.Context(), "../../tools/changelog", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "\nfeat(agent): a step\n") {
		t.Errorf("error %v, and the subject that no commit has is not in %q", err, out)
	}
}

// TestShallow: a clone that lacks commits gives no short list.
func TestShallow(t *testing.T) {
	dir := repository(t)
	commit(t, dir, "feat: one")
	commit(t, dir, "feat: two")
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, dir, "clone", "--quiet", "--depth=1", "file://"+dir, clone)
	out, err := exec.CommandContext(t.Context(), "../../tools/changelog", clone).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "git fetch --unshallow") {
		t.Errorf("error %v, and no command that helps in %q", err, out)
	}
}

// changelog returns what is written below the first heading and its sentence.
func changelog(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(version+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "../../tools/changelog", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(text), "not by hand.\n")
	return sections
}

// correct writes the file with better words for subjects.
func correct(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tools/changelog.corrections"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	return dir
}

func commit(t *testing.T, dir, message string) {
	t.Helper()
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message="+message)
}

// git runs git with a person and a date of its own, and none of the settings of who runs the test.
func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test",
		"GIT_AUTHOR_DATE=2026-01-02T12:00:00Z", "GIT_COMMITTER_DATE=2026-01-02T12:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, out)
	}
}

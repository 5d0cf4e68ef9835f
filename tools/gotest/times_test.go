package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clones is a repository, and two clones of it.
type clones struct {
	*testing.T
	dir string
}

func newClones(t *testing.T) *clones {
	t.Helper()
	c := &clones{t, t.TempDir()}
	c.sh(`git init -q origin && cd origin && mkdir -p folder/deep other && echo one >file && ln -s ../file folder/link &&
		echo two >folder/deep/script && chmod +x folder/deep/script && echo three >other/file && git add . &&
		git -c user.name=n -c user.email=n@example.com commit -qm first && cd .. &&
		git clone -q origin a && git clone -q origin b`)
	return c
}

func (c *clones) sh(script string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), "sh", "-c", script)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("%v: %s\n%s", err, script, out)
	}
	return strings.TrimSpace(string(out))
}

// set sets the times of a clone.
func (c *clones) set(clone string) {
	c.Helper()
	if err := setTimes(c.Context(), filepath.Join(c.dir, clone)); err != nil {
		c.Fatal(err)
	}
}

// expectDiffer names all whose times differ between the clones.
func (c *clones) expectDiffer(what string, want ...string) {
	c.Helper()
	var got []string
	names := []string{".", "file", "folder", "folder/link", "folder/deep", "folder/deep/script", "other", "other/file"}
	for _, name := range names {
		a, errA := os.Lstat(filepath.Join(c.dir, "a", name))
		b, errB := os.Lstat(filepath.Join(c.dir, "b", name))
		if errA != nil || errB != nil {
			c.Fatal(errA, errB)
		}
		if !a.ModTime().Equal(b.ModTime()) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		c.Errorf("%s: %q differ, want %q", what, got, want)
	}
}

// TestTimes: what is the same has the same time in all clones, and only that.
func TestTimes(t *testing.T) {
	c := newClones(t)
	c.set("a")
	c.set("b")
	c.expectDiffer("clones")
	if got := c.sh("cd a && git diff-files && stat -c %y file"); got >= "2018" || got < "2001" {
		t.Errorf("git takes files for modified, or the time is odd: %s", got)
	}
	before := c.sh("stat -c %z a/file a/.git/index")
	c.set("a")
	if after := c.sh("stat -c %z a/file a/.git/index"); after != before {
		t.Errorf("nothing was to do, but changed were %s, and %s", before, after)
	}

	modified := "cd a && echo six >folder/deep/script && echo new >other/untracked"
	c.sh(modified)
	own := c.sh("stat -c %y a/folder/deep/script")
	c.set("a")
	if now := c.sh("stat -c %y a/folder/deep/script"); now != own {
		t.Errorf("a modified file had %s and has %s", own, now)
	}
	c.expectDiffer("a modified and an untracked file", "folder/deep/script", "other")
	c.sh("cd a && git add .")
	c.set("a")
	c.expectDiffer("other content, and another name in a folder", "folder/deep/script", "other")
	c.sh("cd b && " + strings.TrimPrefix(modified, "cd a && ") + " && git add .")
	c.set("b")
	c.expectDiffer("the same changes in both")
	c.sh("cd a && mkdir folder/deep/new && echo x >folder/deep/new/file")
	c.set("a")
	c.expectDiffer("a new folder, of which the one above knows", "folder/deep")
}

// TestNoWorkTree: an unpacked archive has no git.
func TestNoWorkTree(t *testing.T) {
	if err := setTimes(t.Context(), t.TempDir()); err == nil {
		t.Error("no error")
	}
}

// TestUnset: what was changed behind git's back does not have the time of what is tracked.
func TestUnset(t *testing.T) {
	for name, hide := range map[string][]string{
		"after git was asked": nil, "assumed unchanged": {"update-index", "--assume-unchanged", "file"},
		"left out of the work tree": {"update-index", "--skip-worktree", "file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := filepath.Join(root, "file")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			do := func(args ...string) {
				t.Helper()
				if _, err := git(t.Context(), root, args...); err != nil {
					t.Fatal(err)
				}
			}
			do("init", "-q")
			write("one")
			do("add", "file")
			tracked, err := git(t.Context(), root, "ls-files", "-z", "--stage")
			if err != nil {
				t.Fatal(err)
			}
			pinned := timeOf(identities(tracked)["file"])
			if hide != nil {
				do(hide...)
			}
			write("two")
			if _, err := setTime(file, pinned); err != nil {
				t.Fatal(err)
			}
			if err := setTimes(t.Context(), root); err != nil {
				t.Fatal(err)
			}
			after, err := os.Stat(file)
			if err != nil || after.ModTime().UnixNano() == pinned.Nano() {
				t.Errorf("still %v, %v", after.ModTime(), err)
			}
		})
	}
}

package tutorial

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBlocks(t *testing.T) {
	const page = "# Page\n```sh\ncat <<EOF\n## no heading\nEOF\n```\ntext\n```text\nout\n```\n\n" + yours + "\n```sh\nmake\n```\n"
	want := []Block{{"sh", "cat <<EOF\n## no heading\nEOF\n", 3, false}, {"text", "out\n", 9, false}, {"sh", "make\n", 14, true}}
	if got := Blocks(page); !slices.Equal(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

// TestTutorials: each is followed by a test, and the blocks that tests leave out are at least commands.
func TestTutorials(t *testing.T) {
	pages, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d tutorials, %v", len(pages), err)
	}
	tests := read(t, "tutorial_test.go") + read(t, "../e2e/tutorials_test.go")
	for _, page := range pages {
		if !strings.Contains(tests, filepath.Base(page)+`"`) {
			t.Errorf("no test follows %s", page)
		}
		left := 0
		for _, b := range Blocks(read(t, page)) {
			if b.Yours {
				left++
			}
			if out, err := exec.Command("bash", "-n", "-c", b.Text).CombinedOutput(); b.Language == "sh" && err != nil {
				t.Errorf("%s:%d: %s", page, b.Line, out)
			}
		}
		if marks := strings.Count(read(t, page), yours); marks != left {
			t.Errorf("%s: %d blocks are left out, by %d marks", page, left, marks)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestFollow: a page that does what it shows has no errors; any other has one that says where.
func TestFollow(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"as shown":           {"```sh\necho $A; a=1\n```\n```text\nb\n```\n```sh\necho $a\n```\n```text\n1\n```", ""},
		"something else":     {"```sh\necho $A\n```\n```text\nc\n```", "line 5: the commands before printed\nb\n"},
		"fails":              {"```sh\necho why; false; true\n```", "exit status 1\nwhy\n"},
		"not for tests":      {yours + "\n```sh\nfalse\n```", ""},
		"its output neither": {yours + "\n```sh\nfalse\n```\n```text\nx\n```", "line 6: no command is before this output"},
		"no command":         {"```text\nx\n```", "line 2: no command is before this output"},
		"no Skyhook":         {"```yaml\nspek: 1\n```", "line 2: no Skyhook: "},
		"not checked":        {"```json\n{}\n```", `line 2: a block of "json" is not checked`},
	} {
		err := Follow(t.Context(), Blocks(c.page), t.TempDir(), "A=b")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestShows(t *testing.T) {
	for name, c := range map[string]struct {
		shown, output string
		want          bool
	}{
		"the same":              {"a\nb\n", "a\nb\n", true},
		"nothing":               {"", "", true},
		"too much":              {"a\n", "a\nb\n", false},
		"too little":            {"a\nb\n", "a\n", false},
		"lines left out":        {"…\nb\n…\n", "x\ny\nb\nz\n", true},
		"no lines left out":     {"…\nb\n…\n", "b\n", true},
		"not the one":           {"…\nb\n…\n", "x\nbb\nz\n", false},
		"the rest of a line":    {"after …\n", "after 3ms\n", true},
		"not the next line":     {"after …\n", "after\n3ms\n", false},
		"signs of a pattern":    {"(a.*)\n", "(a.*)\n", true},
		"not as a pattern":      {"a.*\n", "abc\n", false},
		"in another order":      {"…\na\n…\nb\n…\n", "b\na\n", false},
		"a line of it indented": {"  a\n", "a\n", false},
	} {
		if got := shows(c.shown, c.output); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

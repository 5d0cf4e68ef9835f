package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// released is a version of this project, by what is before it.
var released = regexp.MustCompile(
	`(?:--version |/download/|refs/tags/|\?ref=|checkout |tag -s |--dir |release/|operator[:-]|agent[:-])(v[0-9]+\.[0-9]+\.[0-9]+)`)

// TestVersion: what people copy names the version that is released next. Step 1 of docs/release.md runs this test.
func TestVersion(t *testing.T) {
	want := strings.TrimSpace(text(t, filepath.Join(root, "VERSION")))
	named := 0
	for _, page := range slices.Concat(pages(t), subpages(t), examples(t), []string{chartFolder + "README.md"}) {
		for _, match := range released.FindAllStringSubmatch(text(t, page), -1) {
			named++
			if match[1] != want {
				t.Errorf("%s: %s is not %s of the file VERSION", page, match[0], want)
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d named", named)
	}
}

func examples(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

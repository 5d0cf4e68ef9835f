package purity

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeysStandInOnePlace looks at every Go file of internal and cmd, for whatever platform, but not at tests, which
// spell keys out so that a change of one is noticed, nor at what is generated of comments.
func TestKeysStandInOnePlace(t *testing.T) {
	seen := 0
	for _, folder := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_generated") {
				return err
			}
			seen++
			found, err := checkKeys(path)
			for _, sentence := range found {
				t.Errorf("%s/%s", filepath.Dir(path), sentence)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("only %d files were found", seen)
	}
}

// TestStrayKeyIsFound makes sure that the check above can fail.
func TestStrayKeyIsFound(t *testing.T) {
	got, err := checkKeys(filepath.Join("testdata", "keys.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`keys.go.txt:6: "skyhook.nvidia.com/pause" belongs into api/v1alpha1`,
		"keys.go.txt:7: a key that is put together here belongs into api/v1alpha1",
		"keys.go.txt:8: prefix is another name for what api/v1alpha1 has one for",
		"keys.go.txt:12: a key that is put together here belongs into api/v1alpha1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

package release

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTarFolder: when and how files came to be changes nothing.
func TestTarFolder(t *testing.T) {
	archive := func(mode os.FileMode, at time.Time) []byte {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "a.tar")
		if err := os.Mkdir(filepath.Join(dir, "blobs"), mode|0o100); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"index.json", "blobs/a"} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(name), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := tarFolder(file, dir); err != nil {
			t.Fatal(err)
		}
		return read(t, file)
	}
	if !bytes.Equal(archive(0o600, time.Unix(1, 0)), archive(0o664, time.Unix(1e9, 0))) {
		t.Error("archives of equal folders differ")
	}
}

func TestTarGzip(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "a.tgz"), filepath.Join(t.TempDir(), "b.tgz")
	if err := tarGzip(first, []member{{"b/x", 0o755, []byte("x")}, {"a", 0o644, []byte("a")}}); err != nil {
		t.Fatal(err)
	}
	members := must(untarGzip(read(t, first)))(t)
	want := []member{{"a", 0o644, []byte("a")}, {"b/x", 0o755, []byte("x")}}
	if diff := cmp.Diff(want, members, cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("what comes out again (-want +got):\n%s", diff)
	}
	if err := tarGzip(second, members); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, first), read(t, second)) {
		t.Error("the order of members changes the archive")
	}
}

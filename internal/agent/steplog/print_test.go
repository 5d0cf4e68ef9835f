package steplog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// TestPrint prints every run that is kept, in the order of time, and nothing from elsewhere.
func TestPrint(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret-2026-01-02-030405.log")
	must(t, os.WriteFile(elsewhere, []byte("secret\n"), 0o600))
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, l := range []struct{ name, text string }{
		{"driver/1.0.0/apply.sh-2026-01-02-030405.log", "first\n"},
		{"driver/1.0.0/apply.sh-2026-01-02-030405-1.log", "second\n"},
		{"driver/1.0.0/apply.sh-2026-01-02-030405-1.err", "its error\n"},
		{"tuning/2.0.0/sub/set.sh-2026-01-02-030406.log", "tuned\n"},
		{"tuning/2.0.0/sub/set.sh-2026-01-02-030406.err", ""},
		{"tuning/2.0.0/notes.txt", "no log\n"},
	} {
		file := filepath.Join(dir, l.name)
		at := start.Add(time.Duration(i) * time.Second)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(l.text), 0o640), os.Chtimes(file, at, at))
	}
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "driver", "link-2026-01-02-030405.log")), os.Symlink(filepath.Dir(elsewhere), filepath.Join(dir, "folder")))
	const (
		driver = "==> driver/1.0.0/apply.sh-2026-01-02-030405.log <==\nfirst\n==> driver/1.0.0/apply.sh-2026-01-02-030405-1.log <==\nsecond\n==> driver/1.0.0/apply.sh-2026-01-02-030405-1.err <==\nits error\n"
		tuning = "==> tuning/2.0.0/sub/set.sh-2026-01-02-030406.log <==\ntuned\n"
	)
	for _, c := range []struct {
		name, pkg, want string
	}{
		{"all", "", driver + tuning},
		{"of a package", "tuning", tuning},
		{"of another package", "other", "no logs are here\n"},
	} {
		var out strings.Builder
		if err := steplog.Print(&out, dir, c.pkg); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n%s", c.name, err, out.String())
		}
	}
	if err := steplog.Print(&strings.Builder{}, filepath.Join(dir, "nonesuch"), ""); err == nil {
		t.Error("a folder that does not exist has no error")
	}
	if err := steplog.Print(&strings.Builder{}, dir, "../.."); err == nil {
		t.Error("a package leads out of the folder")
	}
}

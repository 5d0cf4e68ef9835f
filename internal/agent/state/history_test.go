package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

var tuning = &packagefile.Package{Name: "tuning", Version: "1.1.0"}

var when = time.Date(2026, 11, 20, 21, 42, 45, 607560000, time.UTC)

const golden = `{"current-version": "1.1.0", "history": [{"version": "1.1.0", "time": "2026-11-20T21:42:45.607560+00:00"}, ` +
	`{"version": "1.0.0", "time": "2026-11-20T21:42:45.607560+00:00"}]}`

func newHistory(t *testing.T, content string) Dir {
	t.Helper()
	at := Dir{Path: filepath.Join(t.TempDir(), "state")}
	if content != "" {
		writeHistory(t, at, content)
	}
	return at
}

func writeHistory(t *testing.T, at Dir, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(at.History(tuning)), 0o755))
	must(t, os.WriteFile(at.History(tuning), []byte(content), 0o644))
}

func record(t *testing.T, at Dir, versions ...string) string {
	t.Helper()
	for _, version := range versions {
		must(t, at.RecordInstalled(tuning, version, when))
	}
	return read(t, at.History(tuning))
}

func TestRecordInstalled_GoldenFile(t *testing.T) {
	if got := record(t, newHistory(t, ""), "1.0.0", "1.1.0"); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

func TestRecordInstalled_ContinuesAHistoryInTheField(t *testing.T) {
	at := newHistory(t, `{"current-version":"1.1.0","history":[{"version":"1.1.0","time":"2025-01-01T00:00:00.000000+00:00"}],"extra":1}`)
	want := `{"current-version": "1.2.0", "history": [{"version": "1.2.0", "time": "2026-11-20T21:42:45.607560+00:00"}, ` +
		`{"version": "1.1.0", "time": "2025-01-01T00:00:00.000000+00:00"}]}`
	if got := record(t, at, "1.2.0"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecordInstalled_SameVersionOnce(t *testing.T) {
	if got := record(t, newHistory(t, ""), "1.0.0", "1.0.0", "1.1.0", "1.1.0", "1.1.0"); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

func TestRecordInstalled_VersionsMayComeBack(t *testing.T) {
	raw := record(t, newHistory(t, ""), "1.0.0", Uninstalled, "1.0.0")
	var file struct {
		History []struct{ Version string }
	}
	must(t, json.Unmarshal([]byte(raw), &file))
	if fmt.Sprint(file.History) != "[{1.0.0} {uninstalled} {1.0.0}]" {
		t.Errorf("got %s", raw)
	}
}

// TestHistoryOfPackagesMadeFromOneImage: they share the file, not what it says.
func TestHistoryOfPackagesMadeFromOneImage(t *testing.T) {
	one := newHistory(t, `{"current-version": "1.0.0", "history": [{"version": "1.0.0", "time": "2025-01-01T00:00:00.000000+00:00"}]}`)
	two := Dir{Path: one.Path, Package: "two"}
	one.Package = "one"
	is := func(at Dir, want string) {
		t.Helper()
		if got, err := at.Installed(tuning); err != nil || got != want {
			t.Errorf("%s: got %q, want %q, %v", at.Package, got, want, err)
		}
	}
	is(one, "1.0.0")
	is(two, "1.0.0")
	record(t, one, "1.1.0")
	is(one, "1.1.0")
	is(two, "1.0.0")
	before := record(t, two, "2.0.0")
	if after := record(t, one, "1.1.0"); after != before {
		t.Errorf("the same version was recorded again: %s", after)
	}
	record(t, two, Uninstalled)
	is(one, "1.1.0")
	is(two, Uninstalled)
	is(Dir{Path: one.Path}, Uninstalled)
	is(Dir{Path: one.Path, Package: "three"}, "1.0.0")
	want := `{"current-version": "uninstalled", "history": [{"version": "uninstalled", "time": "2026-11-20T21:42:45.607560+00:00", "package": "two"}, `
	if got := read(t, one.History(tuning)); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestInstalled_OfAPackageThatNeverWas(t *testing.T) {
	one := newHistory(t, "")
	one.Package = "one"
	record(t, one, "1.0.0")
	if got, err := (Dir{Path: one.Path, Package: "two"}).Installed(tuning); err != nil || got != Unknown {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRecordInstalled_IsBounded(t *testing.T) {
	at := newHistory(t, "")
	for i := range 120 {
		record(t, at, fmt.Sprintf("1.0.%d", i))
	}
	var file struct {
		Current string `json:"current-version"`
		History []struct{ Version string }
	}
	must(t, json.Unmarshal([]byte(read(t, at.History(tuning))), &file))
	if len(file.History) != 50 || file.Current != "1.0.119" || file.History[0].Version != "1.0.119" || file.History[49].Version != "1.0.70" {
		t.Errorf("%d entries, current %s, %v", len(file.History), file.Current, file.History)
	}
}

func TestInstalled(t *testing.T) {
	tests := map[string]struct {
		content, want string
	}{
		"no history":  {"", Unknown},
		"installed":   {golden, "1.1.0"},
		"uninstalled": {`{"current-version": "uninstalled", "history": []}`, "uninstalled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newHistory(t, test.content).Installed(tuning)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestCorruptHistoryFileIsMovedToBackup covers files that are no JSON, and
// JSON of another shape.
func TestCorruptHistoryFileIsMovedToBackup(t *testing.T) {
	for _, corrupt := range []string{"{", "[]", "null", `"x"`, "{}", `{"current-version": 1}`, `{"current-version": "1.0.0", "history": {}}`, "\x00\x00"} {
		t.Run(corrupt, func(t *testing.T) {
			at := newHistory(t, corrupt)
			for range 2 {
				if got, err := at.Installed(tuning); err != nil || got != Unknown {
					t.Errorf("current: %q, %v", got, err)
				}
			}
			if got := read(t, at.History(tuning)+".backup"); got != corrupt {
				t.Errorf("backup %q", got)
			}
			writeHistory(t, at, corrupt)
			if got := record(t, at, "1.0.0", "1.1.0"); got != golden {
				t.Errorf("written anew: %s", got)
			}
		})
	}
}

func TestHistoryErrorsAreReported(t *testing.T) {
	at := newHistory(t, "")
	must(t, os.MkdirAll(at.History(tuning), 0o755))
	if _, err := at.Installed(tuning); err == nil {
		t.Error("a directory was read")
	}
	if err := at.RecordInstalled(tuning, "1.0.0", when); err == nil {
		t.Error("a directory was replaced")
	}
}

package history_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/history"
)

var when = time.Date(2026, 11, 20, 21, 42, 45, 607560000, time.UTC)

const golden = `{"current-version": "1.1.0", "history": [{"version": "1.1.0", "time": "2026-11-20T21:42:45.607560+00:00"}, ` +
	`{"version": "1.0.0", "time": "2026-11-20T21:42:45.607560+00:00"}]}`

func newStore(t *testing.T, content string) history.Store {
	t.Helper()
	store := history.Store{Dir: filepath.Join(t.TempDir(), "history")}
	if content != "" {
		write(t, store, content)
	}
	return store
}

func write(t *testing.T, store history.Store, content string) {
	t.Helper()
	if err := os.MkdirAll(store.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.Path("tuning"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func record(t *testing.T, store history.Store, versions ...string) string {
	t.Helper()
	for _, version := range versions {
		if err := store.Record("tuning", version, when); err != nil {
			t.Fatal(err)
		}
	}
	return content(t, store.Path("tuning"))
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRecord_GoldenFile(t *testing.T) {
	if got := record(t, newStore(t, ""), "1.0.0", "1.1.0"); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

func TestRecord_ContinuesAHistoryInTheField(t *testing.T) {
	store := newStore(t, `{"current-version":"1.1.0","history":[{"version":"1.1.0","time":"2025-01-01T00:00:00.000000+00:00"}],"extra":1}`)
	want := `{"current-version": "1.2.0", "history": [{"version": "1.2.0", "time": "2026-11-20T21:42:45.607560+00:00"}, ` +
		`{"version": "1.1.0", "time": "2025-01-01T00:00:00.000000+00:00"}]}`
	if got := record(t, store, "1.2.0"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecord_SameVersionOnce(t *testing.T) {
	if got := record(t, newStore(t, ""), "1.0.0", "1.0.0", "1.1.0", "1.1.0", "1.1.0"); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

func TestRecord_VersionsMayComeBack(t *testing.T) {
	raw := record(t, newStore(t, ""), "1.0.0", history.Uninstalled, "1.0.0")
	var file struct {
		History []struct{ Version string }
	}
	if err := json.Unmarshal([]byte(raw), &file); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(file.History) != "[{1.0.0} {uninstalled} {1.0.0}]" {
		t.Errorf("got %s", raw)
	}
}

// TestPackagesMadeFromOneImage: they share the file, not what it says.
func TestPackagesMadeFromOneImage(t *testing.T) {
	one := newStore(t, `{"current-version": "1.0.0", "history": [{"version": "1.0.0", "time": "2025-01-01T00:00:00.000000+00:00"}]}`)
	two := history.Store{Dir: one.Dir, Package: "two"}
	one.Package = "one"
	is := func(store history.Store, want string) {
		t.Helper()
		if got, err := store.Current("tuning"); err != nil || got != want {
			t.Errorf("%s: got %q, want %q, %v", store.Package, got, want, err)
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
	record(t, two, history.Uninstalled)
	is(one, "1.1.0")
	is(two, history.Uninstalled)
	is(history.Store{Dir: one.Dir}, history.Uninstalled)
	is(history.Store{Dir: one.Dir, Package: "three"}, "1.0.0")
	want := `{"current-version": "uninstalled", "history": [{"version": "uninstalled", "time": "2026-11-20T21:42:45.607560+00:00", "package": "two"}, `
	if got := content(t, one.Path("tuning")); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestCurrent_OfAPackageThatNeverWas(t *testing.T) {
	one := newStore(t, "")
	one.Package = "one"
	record(t, one, "1.0.0")
	if got, err := (history.Store{Dir: one.Dir, Package: "two"}).Current("tuning"); err != nil || got != history.Unknown {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRecord_IsBounded(t *testing.T) {
	store := newStore(t, "")
	for i := range 120 {
		record(t, store, fmt.Sprintf("1.0.%d", i))
	}
	var file struct {
		Current string `json:"current-version"`
		History []struct{ Version string }
	}
	if err := json.Unmarshal([]byte(content(t, store.Path("tuning"))), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.History) != 50 || file.Current != "1.0.119" || file.History[0].Version != "1.0.119" || file.History[49].Version != "1.0.70" {
		t.Errorf("%d entries, current %s, %v", len(file.History), file.Current, file.History)
	}
}

func TestCurrent(t *testing.T) {
	tests := map[string]struct {
		content, want string
	}{
		"unknown_is_given_to_upgrade_step_if_history_file_dont_exist": {"", history.Unknown},
		"installed":   {golden, "1.1.0"},
		"uninstalled": {`{"current-version": "uninstalled", "history": []}`, "uninstalled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newStore(t, test.content).Current("tuning")
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
			store := newStore(t, corrupt)
			for range 2 {
				if got, err := store.Current("tuning"); err != nil || got != history.Unknown {
					t.Errorf("current: %q, %v", got, err)
				}
			}
			if got := content(t, store.Path("tuning")+".backup"); got != corrupt {
				t.Errorf("backup %q", got)
			}
			write(t, store, corrupt)
			if got := record(t, store, "1.0.0", "1.1.0"); got != golden {
				t.Errorf("written anew: %s", got)
			}
		})
	}
}

func TestErrorsAreReported(t *testing.T) {
	store := newStore(t, "")
	if err := os.MkdirAll(store.Path("tuning"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Current("tuning"); err == nil {
		t.Error("a directory was read")
	}
	if err := store.Record("tuning", "1.0.0", when); err == nil {
		t.Error("a directory was replaced")
	}
}

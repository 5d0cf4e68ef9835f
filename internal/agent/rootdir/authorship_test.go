//go:build integration

package rootdir_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// others replaces a file, as whoever else looks after the host does.
func (s scene) others(changes files) {
	s.t.Helper()
	for name := range changes {
		must(s.t, os.RemoveAll(filepath.Join(s.host, name)))
	}
	changes.put(s.t, s.host)
}

// listen collects what the store says.
func (s *scene) listen() *[]string {
	said := &[]string{}
	s.own.Warn = func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }
	return said
}

// kept reads what was set aside.
func (s scene) kept() string {
	s.t.Helper()
	found := tree(s.t, s.own.Dir)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if strings.HasPrefix(name, "kept/") {
			all = append(all, found[name])
		}
	}
	if len(found) != len(all) {
		s.t.Errorf("left in the store: %q", found)
	}
	return strings.Join(all, " ")
}

// TestRemoveAfterOthersChangedTheFile: only what the package has left there is
// taken back.
func TestRemoveAfterOthersChangedTheFile(t *testing.T) {
	tests := map[string]struct {
		host, ships, others files
		remains             files
		kept                string
	}{
		"one that was there before": {
			host: files{"etc/a": "old"}, ships: files{"etc/a": "1"}, others: files{"etc/a": "2"},
			remains: files{"etc/a": "2"}, kept: "old",
		},
		"a new one": {
			host: files{"etc/b": ""}, ships: files{"etc/a": "1"}, others: files{"etc/a": "2"},
			remains: files{"etc/a": "2", "etc/b": ""}, kept: "",
		},
		"through a link": {
			host: files{"etc/a": "->b", "etc/b": "old"}, ships: files{"etc/a": "1"}, others: files{"etc/b": "2"},
			remains: files{"etc/a": "->b", "etc/b": "2"}, kept: "old",
		},
		"a link in its place": {
			host: files{"etc/a": "old", "etc/b": ""}, ships: files{"etc/a": "1"}, others: files{"etc/a": "->b"},
			remains: files{"etc/a": "->b", "etc/b": ""}, kept: "old",
		},
		"a directory in its place": {
			host: files{"etc/a": "old"}, ships: files{"etc/a": "1"}, others: files{"etc/a/": ""},
			remains: files{"etc/a/": ""}, kept: "old",
		},
		"a shipped link that leads elsewhere": {
			host: files{"etc/a": "->old"}, ships: files{"etc/a": "->1"}, others: files{"etc/a": "->2"},
			remains: files{"etc/a": "->2"}, kept: "->old",
		},
		"a file in place of a shipped link": {
			host: files{"etc/a": "->old"}, ships: files{"etc/a": "->1"}, others: files{"etc/a": "2"},
			remains: files{"etc/a": "2"}, kept: "->old",
		},
		"the same again": {
			host: files{"etc/a": "old"}, ships: files{"etc/a": "1"}, others: files{"etc/a": "1"},
			remains: files{"etc/a": "old"}, kept: "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.host)
			said := s.listen()
			must(t, s.install(test.ships))
			s.others(test.others)
			must(t, s.own.Remove(), s.own.Remove())
			s.expect("removed", test.remains)
			if got := s.kept(); got != test.kept {
				t.Errorf("kept %q, want %q", got, test.kept)
			}
			if stays := !maps.Equal(test.remains, test.host); stays != (len(*said) == 1) {
				t.Errorf("it says %q", *said)
			}
		})
	}
}

// TestInstallAfterOthersChangedTheFile: theirs is what the host has without
// the package.
func TestInstallAfterOthersChangedTheFile(t *testing.T) {
	for _, before := range []files{{"etc/a": "old"}, {"etc/b": ""}} {
		for _, theirs := range []string{"2", "->b"} {
			s := newScene(t, before)
			must(t, s.install(files{"etc/a": "1"}))
			s.others(files{"etc/a": theirs, "etc/b": "b"})
			said := s.listen()
			must(t, s.install(files{"etc/a": "3"}), s.install(files{"etc/a": "3"}))
			if len(*said) != 1 {
				t.Errorf("it says %q", *said)
			}
			must(t, s.own.Remove())
			s.expect("removed", files{"etc/a": theirs, "etc/b": "b"})
			if s.kept() != "" {
				t.Errorf("kept %q", s.kept())
			}
		}
	}
}

// TestStepsOfThePackageChangeTheFile, also when the agent is killed with them.
func TestStepsOfThePackageChangeTheFile(t *testing.T) {
	for _, killed := range []bool{false, true} {
		s := newScene(t, files{"etc/a": "old"})
		said := s.listen()
		must(t, s.install(files{"etc/a": "1", "etc/b": "1"}), s.own.Begin())
		s.others(files{"etc/a": "edited", "etc/b": "edited"})
		if !killed {
			must(t, s.own.Settle())
		}
		must(t, s.install(files{"etc/a": "2", "etc/b": "2"}), s.own.Remove())
		s.expect("removed", files{"etc/a": "old"})
		if len(*said) > 0 {
			t.Errorf("it says %q", *said)
		}
	}
}

// TestOthersChangedTheFileBeforeAnUninstall: its steps do not make it the
// package's.
func TestOthersChangedTheFileBeforeAnUninstall(t *testing.T) {
	s := newScene(t, files{"etc/a": "old"})
	must(t, s.install(files{"etc/a": "1"}))
	s.others(files{"etc/a": "2"})
	must(t, s.own.Begin(), s.own.Settle(), s.own.Remove())
	s.expect("removed", files{"etc/a": "2"})
}

func TestOriginalThatWasKeptBefore(t *testing.T) {
	for _, kept := range []bool{true, false} {
		s := newScene(t, files{"etc/a": "old"})
		must(t, s.install(files{"etc/a": "1"}))
		s.others(files{"etc/a": "2"})
		manifest := filepath.Join(s.own.Dir, "root_dir.json")
		raw, err := os.ReadFile(manifest)
		must(t, err)
		if kept {
			must(t, s.own.Remove())
		}
		// As if it had been killed before it could say so.
		must(t, os.WriteFile(manifest, raw, 0o600), os.RemoveAll(filepath.Join(s.own.Dir, "originals")))
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/a": "2"})
		if got := s.kept(); (got == "old") != kept {
			t.Errorf("kept %q", got)
		}
	}
}

// TestWhatWasKeptStays: the second time, too.
func TestWhatWasKeptStays(t *testing.T) {
	s := newScene(t, files{"etc/a": "first"})
	said := s.listen()
	for _, theirs := range []string{"second", "third", "third"} {
		must(t, s.install(files{"etc/a": "1"}))
		s.others(files{"etc/a": theirs})
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/a": theirs})
	}
	if got := strings.Fields(s.kept()); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("kept %q", got)
	}
	for i, warning := range *said {
		raw, err := os.ReadFile(strings.Split(warning, `"`)[3])
		if want := []string{"first", "second", "third"}[i]; err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v, want %q", warning, raw, err, want)
		}
	}
}

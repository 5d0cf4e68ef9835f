//go:build integration

package rootdir_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// another is another package of the Skyhook on the same host.
func (s scene) another() scene {
	s.own.Dir = filepath.Join(filepath.Dir(s.own.Dir), "two")
	return s
}

// TestPathOfAnotherPackageIsRefused before anything is written; what either
// has put on the host goes with it.
func TestPathOfAnotherPackageIsRefused(t *testing.T) {
	tests := map[string]struct {
		one, two files
		path     string // of two that is refused; empty if none is
	}{
		"a file":                       {one: files{"etc/a": "1"}, two: files{"etc/a": "1"}, path: "etc/a"},
		"a link":                       {one: files{"etc/a": "->b"}, two: files{"etc/a": "->b"}, path: "etc/a"},
		"a file where a link is":       {one: files{"etc/a": "->b"}, two: files{"etc/a": "1"}, path: "etc/a"},
		"the second of two":            {one: files{"etc/b": "1"}, two: files{"etc/a": "1", "etc/b": "1"}, path: "etc/b"},
		"a link to where files are":    {one: files{"etc/d/b": "1"}, two: files{"etc/d": "->../opt"}, path: "etc/d"},
		"files where a link leads":     {one: files{"etc/d": "->../opt"}, two: files{"etc/d/b": "1"}, path: "etc/d"},
		"a file in place of a folder":  {one: files{"etc/new/": ""}, two: files{"etc/new": "1"}, path: "etc/new"},
		"a folder in place of a file":  {one: files{"etc/new": "1"}, two: files{"etc/new/": ""}, path: "etc/new"},
		"neither":                      {one: files{"etc/a": "1", "etc/new/a": "1"}, two: files{"etc/b": "2", "etc/new/b": "2"}},
		"a folder that both have made": {one: files{"etc/new/": ""}, two: files{"etc/new/": "", "etc/more/b": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := files{"etc/hosts": "h"}
			one := newScene(t, before)
			two := one.another()
			must(t, one.install(test.one))
			with := tree(t, one.host)
			err := two.install(test.two)
			if test.path == "" {
				with := maps.Clone(before)
				maps.Copy(with, test.two)
				must(t, err, one.own.Remove())
				one.expect("one went", with)
				must(t, two.install(test.two), two.own.Remove())
				one.expect("both went", before)
				return
			}
			path := filepath.Join(one.host, test.path)
			if err == nil || !strings.Contains(err.Error(), `package two ships "`+path+`", where package one `) {
				t.Errorf("got %v", err)
			}
			one.expect("refused", with)
			if left, _ := os.ReadDir(two.own.Dir); len(left) > 0 {
				t.Errorf("left of two: %q", left)
			}
			must(t, two.own.Remove(), one.own.Remove())
			one.expect("one went", before)
			must(t, two.install(test.two), two.own.Remove())
			one.expect("both went", before)
		})
	}
}

// TestTwoPackagesAtOnce: of two that ship one path, one gets it.
func TestTwoPackagesAtOnce(t *testing.T) {
	for range 50 {
		one := newScene(t, files{"etc/a": "old"})
		two := one.another()
		second := make(chan error)
		go func() { second <- two.install(files{"etc/a": "1"}) }()
		first := one.install(files{"etc/a": "1"})
		if err := <-second; (err == nil) == (first == nil) {
			t.Fatalf("one: %v, two: %v", first, err)
		}
		must(t, one.own.Remove(), two.own.Remove())
		one.expect("both went", files{"etc/a": "old"})
	}
}

// TestPackageThatLeftWithoutUninstall: its files count as the host's own, also
// where its manifest cannot be read.
func TestPackageThatLeftWithoutUninstall(t *testing.T) {
	gone := newScene(t, files{})
	s := gone.another()
	must(t, gone.install(files{"etc/a": "1", "etc/b": "1"}))
	s.own.Living = []string{"two"}
	must(t, s.install(files{"etc/a": "2"}), s.own.Remove())
	s.expect("removed", files{"etc/a": "1", "etc/b": "1"})
	s.own.Living = []string{"one", "two"}
	if err := s.install(files{"etc/a": "2"}); err == nil {
		t.Error("a path of a package that is there was not refused")
	}
	must(t, os.WriteFile(filepath.Join(gone.own.Dir, "root_dir.json"), []byte("{"), 0o600), s.install(files{"etc/a": "2"}))
	s.expect("installed", files{"etc/a": "2", "etc/b": "1"})
}

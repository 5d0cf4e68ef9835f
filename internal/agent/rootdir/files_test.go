//go:build integration

package rootdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/rootdir"
)

// files describe a tree: content by path; a path that ends in "/" is a
// directory, content that starts with "->" a symbolic link.
type files map[string]string

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func (f files) put(t *testing.T, root string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(f[name], "->"); ok {
			must(t, os.Symlink(target, path))
		} else {
			must(t, os.WriteFile(path, []byte(f[name]), 0o640))
		}
	}
}

// tree reads a folder back, without directories that are implied.
func tree(t *testing.T, root string) files {
	t.Helper()
	found := files{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		switch {
		case d.IsDir():
			if list, _ := os.ReadDir(path); len(list) == 0 {
				found[name+"/"] = ""
			}
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "->" + target
			return err
		default:
			raw, err := os.ReadFile(path)
			found[name] = string(raw)
			return err
		}
		return nil
	}))
	return found
}

// scene is one package on one host.
type scene struct {
	t    *testing.T
	host string
	own  rootdir.Files
}

func newScene(t *testing.T, host files) scene {
	t.Helper()
	root := t.TempDir()
	host.put(t, root)
	return scene{t, root, rootdir.Files{Dir: filepath.Join(t.TempDir(), "one"), Root: root}}
}

func (s scene) install(shipped files) error {
	s.t.Helper()
	dir := s.t.TempDir()
	shipped.put(s.t, dir)
	src, err := os.OpenRoot(dir)
	must(s.t, err)
	defer func() { _ = src.Close() }()
	if err := s.own.Install(src); err != nil {
		return err
	}
	return s.own.Settle()
}

func (s scene) expect(when string, want files) {
	s.t.Helper()
	if got := tree(s.t, s.host); !maps.Equal(got, want) {
		s.t.Errorf("%s: the host has %q, want %q", when, got, want)
	}
}

func TestInstallAndRemove(t *testing.T) {
	tests := map[string]struct {
		host    files
		ships   []files
		then    files // what the host has after the last of them
		remains files // after Remove, if not what the host had before
	}{
		"new files and directories": {
			host:  files{"etc/hosts": "h"},
			ships: []files{{"etc/new/a": "1", "etc/new/b": "2", "opt/empty/": ""}},
			then:  files{"etc/hosts": "h", "etc/new/a": "1", "etc/new/b": "2", "opt/empty/": ""},
		},
		"a file is replaced": {
			host:  files{"etc/motd": "old"},
			ships: []files{{"etc/motd": "new"}},
			then:  files{"etc/motd": "new"},
		},
		"an equal file was there before": {
			host:  files{"etc/motd": "same"},
			ships: []files{{"etc/motd": "same"}},
			then:  files{"etc/motd": "same"},
		},
		"the next version drops, adds and changes": {
			host:  files{"etc/motd": "old", "etc/keep": "k"},
			ships: []files{{"etc/motd": "v1", "etc/x/gone": "v1"}, {"etc/motd": "v2", "etc/y/more": "v2"}},
			then:  files{"etc/motd": "v2", "etc/keep": "k", "etc/y/more": "v2"},
		},
		"what the next version does not ship comes back": {
			host:  files{"etc/motd": "old"},
			ships: []files{{"etc/motd": "v1"}, {"etc/other": "v2"}},
			then:  files{"etc/motd": "old", "etc/other": "v2"},
		},
		"nothing at all any more": {
			host:  files{"etc/motd": "old"},
			ships: []files{{"etc/motd": "v1", "a/b/c": "1"}, {}},
			then:  files{"etc/motd": "old"},
		},
		"links, new and in place of files and links": {
			host:  files{"etc/file": "f", "etc/link": "->file"},
			ships: []files{{"etc/file": "->elsewhere", "etc/link": "->nowhere", "etc/new": "->file"}},
			then:  files{"etc/file": "->elsewhere", "etc/link": "->nowhere", "etc/new": "->file"},
		},
		"a file through a link of the host": {
			host:  files{"data/motd": "old", "etc/motd": "->../data/motd"},
			ships: []files{{"etc/motd": "new"}},
			then:  files{"data/motd": "new", "etc/motd": "->../data/motd"},
		},
		"a file in place of a link that leads nowhere": {
			host:  files{"etc/motd": "->nowhere"},
			ships: []files{{"etc/motd": "new"}},
			then:  files{"etc/motd": "new"},
		},
		"a file becomes a directory, and a directory a file": {
			host:  files{"etc/hosts": "h"},
			ships: []files{{"etc/a": "1", "etc/b/c": "2"}, {"etc/a/x": "3", "etc/b": "4"}},
			then:  files{"etc/hosts": "h", "etc/a/x": "3", "etc/b": "4"},
		},
		"two paths that lead to one file": {
			host:  files{"usr/lib/x": "old", "lib": "->usr/lib"},
			ships: []files{{"lib/x": "1"}, {"lib/x": "2", "usr/lib/x": "2"}},
			then:  files{"usr/lib/x": "2", "lib": "->usr/lib"},
		},
		"a file that people have masked": {
			host:  files{"etc/sysctl.d/50-x.conf": "->/dev/null"},
			ships: []files{{"etc/sysctl.d/50-x.conf": "x", "etc/y": "y"}},
			then:  files{"etc/sysctl.d/50-x.conf": "->/dev/null", "etc/y": "y"},
		},
		"a file becomes a link": {
			host:  files{"etc/a": "old"},
			ships: []files{{"etc/a": "1"}, {"etc/a": "->b"}, {"etc/a": "2"}},
			then:  files{"etc/a": "2"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.host)
			for _, shipped := range test.ships {
				for range 2 {
					must(t, s.install(shipped))
				}
			}
			s.expect("installed", test.then)
			must(t, s.own.Remove(), s.own.Remove())
			s.expect("removed", test.host)
			if left := tree(t, s.own.Dir); len(left) > 0 {
				t.Errorf("left in the store: %q", left)
			}
		})
	}
}

func TestWhatOthersDidSinceStays(t *testing.T) {
	s := newScene(t, files{"etc/motd": "old"})
	must(t, s.install(files{"etc/motd": "new", "etc/app/shipped": "1", "etc/gone": "1", "etc/x": "1"}))
	files{"etc/app/own": "theirs"}.put(t, s.host)
	must(t, os.Remove(filepath.Join(s.host, "etc/gone")))
	must(t, os.Remove(filepath.Join(s.host, "etc/x")), os.Mkdir(filepath.Join(s.host, "etc/x"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.host, "etc/app/shipped"), []byte("edited"), 0o644))
	must(t, s.own.Remove())
	s.expect("removed", files{"etc/motd": "old", "etc/app/own": "theirs", "etc/app/shipped": "edited", "etc/x/": ""})
}

// TestFileIsTurnedOffLater: a link to /dev/null stays a link, and the device a
// device.
func TestFileIsTurnedOffLater(t *testing.T) {
	for _, before := range []files{{}, {"etc/x.conf": "old"}} {
		s := newScene(t, before)
		must(t, s.install(files{"etc/x.conf": "1"}))
		must(t, os.Remove(filepath.Join(s.host, "etc/x.conf")), os.Symlink("/dev/null", filepath.Join(s.host, "etc/x.conf")))
		must(t, s.install(files{"etc/x.conf": "2"}))
		s.expect("installed again", files{"etc/x.conf": "->/dev/null"})
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/x.conf": "->/dev/null"})
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is %v, %v", info.Mode(), err)
	}
}

// TestReadOnlyUsr: what never came to a read-only file system, or was there
// already, holds up neither another version nor the end.
func TestReadOnlyUsr(t *testing.T) {
	s := newScene(t, files{"usr/lib/same": "same"})
	usr := filepath.Join(s.host, "usr")
	must(t, unix.Mount(usr, usr, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(usr, 0)) })
	must(t, unix.Mount("", usr, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if err := s.install(files{"usr/lib/new/x": "1", "usr/lib/same": "same"}); !errors.Is(err, unix.EROFS) {
		t.Fatalf("got %v", err)
	}
	must(t, s.install(files{"etc/x": "1"}))
	s.expect("moved", files{"usr/lib/same": "same", "etc/x": "1"})
	must(t, s.own.Remove())
	s.expect("removed", files{"usr/lib/same": "same"})
}

// mount mounts a file with this content on one of the host until the test ends.
func (s scene) mount(name, content string) (source string) {
	s.t.Helper()
	source = filepath.Join(s.t.TempDir(), "source")
	must(s.t, os.WriteFile(source, []byte(content), 0o644))
	target := filepath.Join(s.host, name)
	must(s.t, unix.Mount(source, target, "", unix.MS_BIND, ""))
	s.t.Cleanup(func() { must(s.t, unix.Unmount(target, unix.MNT_DETACH)) })
	return source
}

// TestFileThatIsAMountPoint gets the package's content, and its own back.
func TestFileThatIsAMountPoint(t *testing.T) {
	s := newScene(t, files{"etc/hosts": "covered"})
	source := s.mount("etc/hosts", "old")
	for _, shipped := range []files{{"etc/hosts": "1"}, {"etc/hosts": "22"}} {
		must(t, s.install(shipped))
		s.expect("installed", shipped)
	}
	if raw, err := os.ReadFile(source); err != nil || string(raw) != "22" {
		t.Errorf("what is mounted has %q, %v", raw, err)
	}
	must(t, s.own.Remove())
	s.expect("removed", files{"etc/hosts": "old"})
	if s.kept() != "" {
		t.Errorf("kept %q", s.kept())
	}
}

// TestMountsOverWhatThePackageShipped do not hold it up.
func TestMountsOverWhatThePackageShipped(t *testing.T) {
	for name, test := range map[string]struct{ host, ships files }{
		"a file that was there":      {files{"etc/a": "old"}, files{"etc/a": "1"}},
		"a link that was there":      {files{"etc/a": "->b", "etc/b": "b"}, files{"etc/a": "->c"}},
		"a new file":                 {files{"etc/b": ""}, files{"etc/a": "1"}},
		"a new file, the same again": {files{"etc/b": ""}, files{"etc/a": "mounted"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.host)
			said := s.listen()
			must(t, s.install(test.ships))
			if strings.HasPrefix(test.ships["etc/a"], "->") {
				s.others(files{"etc/a": "1"})
			}
			source := s.mount("etc/a", "mounted")
			must(t, s.own.Remove())
			if raw, err := os.ReadFile(source); err != nil || string(raw) != "mounted" {
				t.Errorf("what is mounted has %q, %v", raw, err)
			}
			if len(*said) != 1 || !strings.Contains((*said)[0], filepath.Join(s.host, "etc/a")) {
				t.Errorf("it says %q", *said)
			}
			if got := s.kept(); got != test.host["etc/a"] {
				t.Errorf("kept %q", got)
			}
		})
	}
}

func TestOriginalsAreOutOfReach(t *testing.T) {
	s := newScene(t, files{"usr/bin/sudo": "old"})
	must(t, s.install(files{"usr/bin/sudo": "new"}))
	if info, err := os.Stat(filepath.Join(s.own.Dir, "originals")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestOriginalsComeBackAsTheyWere(t *testing.T) {
	s := newScene(t, files{"etc/shadow": "secret"})
	path := filepath.Join(s.host, "etc/shadow")
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chown(path, 12, 34), os.Chmod(path, 0o4710), os.Chtimes(path, when, when))
	must(t, unix.Setxattr(path, "trusted.note", []byte("kept"), 0))
	describe := func() string {
		info, err := os.Stat(path)
		must(t, err)
		stat := info.Sys().(*syscall.Stat_t)
		note := make([]byte, 16)
		n, err := unix.Getxattr(path, "trusted.note", note)
		must(t, err)
		return fmt.Sprint(info.Mode(), info.ModTime().UTC(), stat.Uid, stat.Gid, string(note[:n]))
	}
	before := describe()
	must(t, s.install(files{"etc/shadow": "new"}), os.Remove(path), s.own.Remove())
	if after := describe(); after != before {
		t.Errorf("was %s, is %s", before, after)
	}
}

func TestTrouble(t *testing.T) {
	t.Run("the host has a directory where the package has a file", func(t *testing.T) {
		s := newScene(t, files{"etc/a/own": "x"})
		if err := s.install(files{"etc/a": "1"}); err == nil || !strings.Contains(err.Error(), "the host has a directory") {
			t.Errorf("got %v", err)
		}
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/a/own": "x"})
	})
	t.Run("a parent has become a file", func(t *testing.T) {
		s := newScene(t, files{})
		must(t, s.install(files{"etc/a/b": "1"}), os.RemoveAll(filepath.Join(s.host, "etc/a")))
		files{"etc/a": "theirs"}.put(t, s.host)
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/a": "theirs"})
	})
	t.Run("a parent of a replaced file has become a file", func(t *testing.T) {
		s := newScene(t, files{"etc/a/b": "old"})
		must(t, s.install(files{"etc/a/b": "1"}), os.RemoveAll(filepath.Join(s.host, "etc/a")))
		files{"etc/a": "theirs"}.put(t, s.host)
		must(t, s.own.Remove())
		s.expect("removed", files{"etc/a": "theirs"})
	})
	t.Run("the manifest cannot be read", func(t *testing.T) {
		s := newScene(t, files{"etc/a": "old"})
		must(t, s.install(files{"etc/a": "1"}))
		said := s.listen()
		manifest, kept := filepath.Join(s.own.Dir, "root_dir.json"), filepath.Join(s.own.Dir, "kept")
		for _, name := range []string{"root_dir.json", "root_dir.json.2"} {
			must(t, os.WriteFile(manifest, []byte("{"), 0o600), s.install(files{"etc/a": "1"}))
			if raw, err := os.ReadFile(filepath.Join(kept, name)); err != nil || string(raw) != "{" {
				t.Errorf("%s: %q, %v", name, raw, err)
			}
		}
		if found, _ := filepath.Glob(filepath.Join(kept, "originals*", "*")); len(found) != 2 {
			t.Errorf("originals %q", found)
		}
		if len(*said) != 2 || !strings.Contains((*said)[0], "root_dir.json") || !strings.Contains((*said)[0], kept) {
			t.Errorf("it says %q", *said)
		}
	})
	t.Run("a copy is lost", func(t *testing.T) {
		s := newScene(t, files{"etc/a": "old"})
		must(t, s.install(files{"etc/a": "new"}))
		must(t, os.RemoveAll(filepath.Join(s.own.Dir, "originals")))
		if err := s.own.Remove(); err == nil || !strings.Contains(err.Error(), "/etc/a: its copy ") {
			t.Errorf("got %v", err)
		}
	})
}

// TestNamesThatAreNotUTF8: JSON has no place for them as they are.
func TestNamesThatAreNotUTF8(t *testing.T) {
	s := newScene(t, files{"etc/\xe4": "old", "etc/\xf6": "another", "etc/\ufffd%E4": "odd"})
	shipped := files{"etc/\xe4": "1", "etc/\xf6": "1", "etc/\ufffd%E4": "1", "opt/\xfc/\xdf": "->\xff"}
	for range 3 {
		must(t, s.install(shipped))
		s.expect("installed", shipped)
	}
	must(t, s.install(files{"etc/\xf6": "2"}))
	s.expect("one is left", files{"etc/\xe4": "old", "etc/\xf6": "2", "etc/\ufffd%E4": "odd"})
	must(t, s.own.Remove())
	s.expect("removed", files{"etc/\xe4": "old", "etc/\xf6": "another", "etc/\ufffd%E4": "odd"})
	if left := tree(t, s.own.Dir); len(left) > 0 {
		t.Errorf("left in the store: %q", left)
	}
}

package tryout

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	must(t,
		os.MkdirAll(dir+"/var/lib/skyhook/tryout/flags", 0o755),
		os.MkdirAll(dir+"/proc/1", 0o755),
		os.MkdirAll(dir+"/etc", 0o750),
		os.WriteFile(dir+"/etc/a", []byte("abc"), 0o640),
		os.WriteFile(dir+"/etc/b", []byte("abc"), 0o600),
		os.Symlink("a", dir+"/etc/link"),
		os.Symlink("/nowhere", dir+"/lost"),
		syscall.Mkfifo(dir+"/etc/pipe", 0o600),
	)
	for _, content := range []bool{false, true} {
		got, err := readTree(dir, content)
		must(t, err)
		want := []string{"/", "/etc", "/etc/a", "/etc/b", "/etc/link", "/etc/pipe", "/lost", "/var", "/var/lib", "/var/lib/skyhook"}
		if paths := slices.Sorted(maps.Keys(got)); !slices.Equal(paths, want) {
			t.Fatalf("got %q, want %q", paths, want)
		}
		a, b := got["/etc/a"], got["/etc/b"]
		if a.size != 3 || a.mode != 0o640 || got["/etc"].mode != fs.ModeDir|0o750 || got["/lost"].link != "/nowhere" || got["/etc/pipe"].mode.Type() != fs.ModeNamedPipe {
			t.Errorf("%+v", got)
		}
		if a.digested != content || a.digest != b.digest || got["/etc/link"].digested || (a.digest != 0) != content {
			t.Errorf("content %v: %+v, %+v", content, a, b)
		}
	}
}

func TestReadTreeOfNothing(t *testing.T) {
	got, err := readTree(filepath.Join(t.TempDir(), "nowhere"), true)
	if err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestVolumes: what is none of the machine's disks is not walked, unless it is
// what was asked for.
func TestVolumes(t *testing.T) {
	v := volumes{}
	for _, c := range []struct {
		volume uint64
		dir    string
		want   bool
	}{{1, "/proc", true}, {2, "/proc", false}, {3, t.TempDir(), true}, {2, "/", false}, {4, "/nowhere", false}} {
		if got := v.has(c.volume, c.dir); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestOverlayIsPrepared: once for one root, and with the root's own mode, as
// the folder is what the root shows of itself.
func TestOverlayIsPrepared(t *testing.T) {
	lower, dir := t.TempDir(), t.TempDir()
	must(t, os.Chmod(lower, 0o711))
	o := overlay{Dir: dir, Lower: lower}
	must(t, o.prepare(), o.prepare())
	info, err := os.Stat(o.upper())
	must(t, err)
	if info.Mode().Perm() != 0o711 {
		t.Errorf("the folder for changes has mode %v", info.Mode())
	}
	if err := (overlay{Dir: dir, Lower: "/"}).prepare(); err == nil {
		t.Error("it fits another root")
	}
}

// TestMessage: another process writes it, under the name that it is given.
func TestMessage(t *testing.T) {
	m, err := newMessage()
	must(t, err)
	defer m.close()
	for _, text := range []string{"", "the first, a long one", "second"} {
		must(t, exec.Command("/bin/sh", "-c", `printf %s "$1" > "$2"`, "sh", text, m.path).Run())
		if got, err := m.read(); err != nil || got != text {
			t.Errorf("got %q, %v; want %q", got, err, text)
		}
	}
}

func TestOverlayIsForOne(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	must(t, err)
	if _, err := lock(dir); err == nil {
		t.Error("locked twice")
	}
	unlock()
	again, err := lock(dir)
	must(t, err)
	again()
}

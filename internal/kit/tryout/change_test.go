package tryout

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
)

func file(size int64) entry { return entry{mode: 0o644, size: size} }

func (e entry) with(change func(*entry)) entry {
	change(&e)
	return e
}

func TestDifference(t *testing.T) {
	link := entry{mode: fs.ModeSymlink | 0o777, link: "a"}
	read := file(3).with(func(e *entry) { e.digest, e.digested = 7, true })
	for name, c := range map[string]struct {
		was, is entry
		want    []string
	}{
		"the same":                     {file(3), file(3), nil},
		"mode":                         {file(3), file(3).with(func(e *entry) { e.mode = 0o600 }), []string{"mode"}},
		"set-user bit":                 {file(3), file(3).with(func(e *entry) { e.mode |= fs.ModeSetuid }), []string{"mode"}},
		"user":                         {file(3), file(3).with(func(e *entry) { e.uid = 1 }), []string{"owner"}},
		"group":                        {file(3), file(3).with(func(e *entry) { e.gid = 1 }), []string{"owner"}},
		"type":                         {file(3), link, []string{"type"}},
		"link":                         {link, link.with(func(e *entry) { e.link = "b" }), []string{"link"}},
		"a new link to the same":       {link, link.with(func(e *entry) { e.stamp.changed = 1 }), nil},
		"device":                       {entry{mode: fs.ModeDevice}, entry{mode: fs.ModeDevice, device: 1}, []string{"device"}},
		"directory with other content": {entry{mode: fs.ModeDir}, entry{mode: fs.ModeDir, stamp: stamp{modified: 1, changed: 1}}, nil},
		"size":                         {file(3), file(4), []string{"content"}},
		"size and mode":                {file(3), file(4).with(func(e *entry) { e.mode = 0o600 }), []string{"mode", "content"}},
		"written":                      {file(3), file(3).with(func(e *entry) { e.stamp.modified = 1 }), []string{"written"}},
		"touched":                      {file(3), file(3).with(func(e *entry) { e.stamp.changed = 1 }), []string{"touched"}},
		"replaced by its like":         {file(3), file(3).with(func(e *entry) { e.stamp.inode = 1 }), []string{"touched"}},
		"a mode explains the touch":    {file(3), file(3).with(func(e *entry) { e.stamp.changed, e.mode = 1, 0o600 }), []string{"mode"}},
		"read, and the same":           {read, read.with(func(e *entry) { e.stamp = stamp{1, 1, 1} }), nil},
		"read, and other content":      {read, read.with(func(e *entry) { e.digest = 8 }), []string{"content"}},
	} {
		if got := difference(c.was, c.is); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestModesAreThoseOfLs(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0o644:                              "-rw-r--r--",
		fs.ModeDir | 0o755:                 "drwxr-xr-x",
		fs.ModeDir | fs.ModeSticky | 0o777: "drwxrwxrwt",
		fs.ModeSticky | 0o644:              "-rw-r--r-T",
		fs.ModeSetuid | 0o755:              "-rwsr-xr-x",
		fs.ModeSetuid | 0o644:              "-rwSr--r--",
		fs.ModeSetgid | 0o755:              "-rwxr-sr-x",
		fs.ModeSymlink | 0o777:             "lrwxrwxrwx",
		fs.ModeNamedPipe | 0o600:           "prw-------",
		fs.ModeSocket | 0o600:              "srw-------",
		fs.ModeDevice | 0o660:              "brw-rw----",
		fs.ModeDevice | fs.ModeCharDevice:  "c---------",
	} {
		if got := lsMode(mode); got != want {
			t.Errorf("%v: got %q, want %q", mode, got, want)
		}
	}
}

var folder = entry{mode: fs.ModeDir | 0o755}

// list renders changes as lines: kind, path, aspects, files below.
func list(changes []Change) []string {
	lines := []string{}
	for _, c := range changes {
		line := c.Kind + " " + c.Path
		if len(c.Aspects) > 0 {
			line += fmt.Sprint(" ", c.Aspects)
		}
		if c.Below > 0 {
			line += fmt.Sprintf(" +%d", c.Below)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCompare(t *testing.T) {
	base := tree{"/": folder, "/etc": folder, "/etc/a": file(1), "/etc/a.d": folder, "/etc/a.d/x": file(1), "/etc/a.d/y": file(1), "/etc/b": file(1)}
	for name, c := range map[string]struct {
		change func(tree)
		want   []string
	}{
		"nothing":             {func(tree) {}, nil},
		"in order":            {func(t tree) { t["/z"], t["/b"], t["/etc/b"] = file(1), file(1), file(2) }, []string{"created /b", "changed /etc/b [content]", "created /z"}},
		"a folder with files": {func(t tree) { t["/n"], t["/n/f"] = folder, file(1) }, []string{"created /n", "created /n/f"}},
		"a file is gone":      {func(t tree) { delete(t, "/etc/a") }, []string{"removed /etc/a"}},
		"a folder is gone":    {func(t tree) { delete(t, "/etc/a.d"); delete(t, "/etc/a.d/x"); delete(t, "/etc/a.d/y") }, []string{"removed /etc/a.d +2"}},
		"a folder became a file": {
			func(t tree) { t["/etc/a.d"] = file(9); delete(t, "/etc/a.d/x"); delete(t, "/etc/a.d/y") },
			[]string{"changed /etc/a.d [type]", "removed /etc/a.d/x", "removed /etc/a.d/y"},
		},
		"the agent's own": {func(t tree) {
			for _, path := range []string{"/var/lib/skyhook", "/var/lib/skyhook/tryout", "/var/lib/skyhook/tryout/flags/START", "/var/log/skyhook", "/var/log/skyhook/tryout/x.log"} {
				t[path] = file(1)
			}
		}, nil},
		"beside the agent's own": {
			func(t tree) { t["/var/lib/skyhook/other"], t["/var/lib/skyhook/tryout2"] = file(1), file(1) },
			[]string{"created /var/lib/skyhook/other", "created /var/lib/skyhook/tryout2"},
		},
		"the kernel's": {func(t tree) { t["/proc"], t["/dev/x"], t["/sys/y"], t["/device"] = folder, file(1), file(1), file(1) }, []string{"created /device"}},
	} {
		after := maps.Clone(base)
		c.change(after)
		if got := list(compare(base.paths(after), base, after)); !slices.Equal(got, append([]string{}, c.want...)) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

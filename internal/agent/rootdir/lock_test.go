package rootdir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// locked opens a file and takes its lock until it is closed.
func locked(t *testing.T, path string) *os.File {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	must(t, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	return file
}

// TestPackagesOfASkyhookTakeTurns: the manifests and the files of one change
// while no other package is at either.
func TestPackagesOfASkyhookTakeTurns(t *testing.T) {
	s := newScene(t, files{"etc/a": "old"})
	must(t, s.install(files{"etc/a": "1"}))
	all, err := os.Open(filepath.Join(filepath.Dir(s.store.Dir), ".skyhook-lock"))
	must(t, err)
	t.Cleanup(func() { _ = all.Close() })
	for name, change := range map[string]func() error{
		"install": func() error { return s.install(files{"etc/a": "2"}) },
		"remove":  func() error { return s.store.Remove(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			// It waits where it writes the file, after all that it notes.
			temp := hostfs.TempName(filepath.Join(s.host, "etc/a"))
			held := locked(t, temp)
			done := make(chan error)
			go func() { done <- change() }()
			for waiters(t, temp) == 0 {
				runtime.Gosched()
			}
			if err := unix.Flock(int(all.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
				t.Errorf("another package can be at work: %v", err)
			}
			must(t, held.Close(), <-done)
			must(t, unix.Flock(int(all.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.Flock(int(all.Fd()), unix.LOCK_UN), s.install(files{"etc/a": "1"}))
		})
	}
}

// waiters counts the processes that wait for the lock of a file.
func waiters(t *testing.T, path string) (count int) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	raw, err := os.ReadFile("/proc/locks")
	must(t, err)
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
			count++
		}
	}
	return count
}

// TestLinksOfOthersComeBetween neither what a package notes of a path and its
// copy: it would write to where they lead, and nobody would have kept what was
// there.
func TestLinksOfOthersComeBetween(t *testing.T) {
	before := files{"etc/": "", "opt/d/b": "the host's"}
	one := newScene(t, before)
	two := one
	two.store.Dir = filepath.Join(filepath.Dir(one.store.Dir), "two")
	temp := hostfs.TempName(filepath.Join(one.host, "etc/a"))
	held, first := locked(t, temp), make(chan error)
	go func() { first <- one.install(files{"etc/a": "1", "etc/d/b": "1"}) }()
	for waiters(t, temp) == 0 {
		runtime.Gosched()
	}
	second, told := make(chan error, 1), make(chan string, 1)
	two.store.Busy = func(other string) { told <- other }
	go func() { second <- two.install(files{"etc/d": "->../opt/d"}) }()
	var err error
	select {
	case <-told:
		must(t, held.Close(), <-first)
		err = <-second
	case err = <-second:
		must(t, held.Close(), <-first)
	}
	if err == nil {
		t.Error("a link replaced the other package's directory")
	}
	must(t, two.store.Remove(t.Context()), one.store.Remove(t.Context()))
	one.expect("both went", before)
}

//go:build linux

package testbed

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeProc has a limit and processes, each with its user and what its descriptors are.
func fakeProc(t *testing.T, limit string, processes ...[]string) string {
	t.Helper()
	proc := t.TempDir()
	check(t, writeBelow(proc, "sys/fs/inotify/max_user_instances", []byte(limit+"\n")))
	for i, p := range processes {
		dir := filepath.Join(proc, strconv.Itoa(i+1))
		check(t, writeBelow(dir, "status", []byte("Name:\tx\nUid:\t77\t"+p[0]+"\t0\t0\n")))
		check(t, os.Mkdir(filepath.Join(dir, "fd"), 0o755))
		for n, target := range p[1:] {
			check(t, os.Symlink(target, filepath.Join(dir, "fd", strconv.Itoa(n))))
		}
	}
	return proc
}

func TestInotifyInstancesAreCountedForEachUser(t *testing.T) {
	const inotify = "anon_inode:inotify"
	proc := fakeProc(t, "128", []string{"0", inotify, "/dev/null", inotify}, []string{"1000", inotify},
		[]string{"0", "anon_inode:[eventpoll]"}, []string{"0", inotify})
	for uid, want := range map[int]uint64{0: 3, 1000: 1, 5: 0} {
		if got := inotifyUsed(proc, uid); got != want {
			t.Errorf("user %d: %d instances, want %d", uid, got, want)
		}
	}
}

func TestInotifyLimitIsRaisedWhenNodesNeedIt(t *testing.T) {
	uses := []string{strconv.Itoa(os.Geteuid()), "anon_inode:inotify", "anon_inode:inotify"}
	for _, c := range []struct {
		name   string
		growth growth
		limit  uint64
		want   uint64
	}{
		{"enough for another beside", growth{want: 5}, 2 * (24 + 5*18 + 2), 2 * (24 + 5*18 + 2)},
		{"one too few for another", growth{want: 5}, 2*(24+5*18+2) - 1, 2 * (24 + 5*18 + 2)},
		{"too few", growth{want: 5}, 24, 2 * (24 + 5*18 + 2)},
		{"the control plane runs", growth{running: true, have: 3, want: 5}, 2 * (2*18 + 2), 2 * (2*18 + 2)},
		{"fewer nodes", growth{running: true, have: 5, want: 3}, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			proc := fakeProc(t, strconv.FormatUint(c.limit, 10), uses)
			var told bytes.Buffer
			check(t, checkInotify(proc, c.growth, newProgress(&told)))
			got, err := readNumber(filepath.Join(proc, "sys/fs/inotify/max_user_instances"))
			check(t, err)
			if got != c.want {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
			if raised := strings.Contains(told.String(), "no longer"); raised != (c.want != c.limit) {
				t.Errorf("told %q", &told)
			}
		})
	}
}

func TestInotifyLimitThatCannotBeRaised(t *testing.T) {
	proc := fakeProc(t, "")
	file := filepath.Join(proc, "sys/fs/inotify/max_user_instances")
	check(t, os.Remove(file))
	// 65536, which nobody can write.
	check(t, os.Symlink("/proc/sys/kernel/ngroups_max", file))
	check(t, checkInotify(proc, growth{want: 2000}, newProgress(io.Discard))) // enough, but for another beside
	err := checkInotify(proc, growth{want: 5000}, newProgress(io.Discard))
	for _, want := range []string{
		"a cluster of 5000 nodes needs 90024 inotify instances beside the 0 in use", "is 65536", "permission denied",
		`run "sysctl -w fs.inotify.max_user_instances=180048"`,
	} {
		if !strings.Contains(errorText(err), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

func TestRoomIsComparedInBytes(t *testing.T) {
	for _, c := range []struct {
		name   string
		growth growth
		free   uint64
		want   string
	}{
		{"all of it", growth{want: 2}, 1000 * mebi, ""},
		{"too little", growth{want: 3}, 1000 * mebi, "a cluster of 3 nodes needs 1100 MiB of memory, and 1000 MiB are free: buy more"},
		{"two more", growth{running: true, have: 1, want: 3}, 199 * mebi, "2 more nodes need 200 MiB"},
		{"one more", growth{running: true, have: 1, want: 2}, 99 * mebi, "one more node needs 100 MiB"},
		{"one less", growth{running: true, have: 2, want: 1}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.growth.fits("memory", need{cluster: 800 * mebi, node: 100 * mebi}, c.free, "buy more")
			if got := errorText(err); c.want == "" && err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFreeMemoryAndDisk(t *testing.T) {
	if got := availableMemory("MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   50 kB\n"); got != 50<<10 {
		t.Errorf("available memory %d", got)
	}
	if got := spareDisk(unix.Statfs_t{Blocks: 1000, Bavail: 30, Bsize: 4096}); got != 20*4096 {
		t.Errorf("spare disk %d", got)
	}
	if got := spareDisk(unix.Statfs_t{Blocks: 1000, Bavail: 9, Bsize: 4096}); got != 0 {
		t.Errorf("spare disk of a full one: %d", got)
	}
}

//go:build linux

package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const mebi = 1 << 20

// What the control plane and each node take of the machine, rounded up from what was measured on two clusters at work.
var (
	// A node uses 14, the control plane 8. A node without enough of them is "not ready" for ever, and only its journal
	// says why. Watches are no matter: a node has about 110 of the 8,192 or more that a user may have.
	inotifyInstances = need{cluster: 24, node: 18}
	// A node uses 70 MiB and the control plane 350 before there are pods; caches, which the kernel can drop, not counted.
	memory = need{cluster: 800 * mebi, node: 200 * mebi}
	// A node has 80 MiB before it pulls large images, of which each has its own copy.
	disk = need{cluster: 300 * mebi, node: 250 * mebi}
)

// inotifyLimit is counted for each user, and the programs on all nodes of all clusters are this machine's root.
const inotifyLimit = "fs.inotify.max_user_instances"

// need is an amount that a cluster takes, and each of its nodes.
type need struct{ cluster, node uint64 }

// growth is from how many nodes that run to how many that are wanted. Without a cluster there is no control plane
// either.
type growth struct {
	running bool
	have    int
	want    int
}

func (g growth) of(n need) uint64 {
	more := n.node * uint64(max(0, g.want-g.have))
	if !g.running {
		more += n.cluster
	}
	return more
}

// needs begins a sentence.
func (g growth) needs() string {
	switch {
	case !g.running:
		return fmt.Sprintf("a cluster of %d nodes needs", g.want)
	case g.want-g.have == 1:
		return "one more node needs"
	}
	return fmt.Sprintf("%d more nodes need", g.want-g.have)
}

// checkRoom returns a sentence on what the machine has too little of. It raises a limit that it may raise.
func checkRoom(state string, g growth, p *progress) error {
	if g.running && g.want <= g.have {
		return nil
	}
	if err := checkInotify("/proc", g, p); err != nil {
		return err
	}
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	free := availableMemory(string(meminfo))
	if err := g.fits("memory", memory, free, "end other programs, or ask for fewer nodes"); err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(state, &fs); err != nil {
		return fmt.Errorf("free space of %s: %w", state, err)
	}
	return g.fits("disk below "+state, disk, spareDisk(fs),
		"make room, set TESTBED_STATE to a folder on another disk, or ask for fewer nodes")
}

// fits compares bytes.
func (g growth) fits(what string, n need, free uint64, help string) error {
	if want := g.of(n); want > free {
		return fmt.Errorf("%s %d MiB of %s, and %d MiB are free: %s", g.needs(), want/mebi, what, free/mebi, help)
	}
	return nil
}

// availableMemory is what programs can still get, by /proc/meminfo.
func availableMemory(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
			kib, _ := strconv.ParseUint(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// spareDisk is what may be filled before kubelets evict pods, see evictionHard in nodefiles/kubelet.yaml.
func spareDisk(fs unix.Statfs_t) uint64 {
	reserve := fs.Blocks / 100
	return (max(fs.Bavail, reserve) - reserve) * uint64(fs.Bsize)
}

// checkInotify reads below proc, which is /proc.
func checkInotify(proc string, g growth, p *progress) error {
	file := filepath.Join(proc, "sys", strings.ReplaceAll(inotifyLimit, ".", "/"))
	limit, err := readNumber(file)
	if err != nil {
		return err
	}
	used := inotifyUsed(proc, os.Geteuid())
	more := g.of(inotifyInstances)
	want := used + more
	// Twice: for what packages on the nodes use, and for a cluster that comes up beside this one and is not in use yet.
	raised := 2 * want
	if more == 0 || raised <= limit {
		return nil
	}
	err = os.WriteFile(file, []byte(strconv.FormatUint(raised, 10)), 0o644)
	switch now, _ := readNumber(file); {
	case now >= want && now > limit:
		p.line("%s is %d now, no longer %d, until the machine boots again", inotifyLimit, now, limit)
		return nil
	case now >= want:
		return nil
	}
	why := "did not take a higher value"
	if err != nil {
		why = err.Error()
	}
	return fmt.Errorf("%s %d inotify instances beside the %d in use, %s is %d, and the testbed cannot raise it (%s): "+
		"run \"sysctl -w %[4]s=%[7]d\" as root outside of any container, or ask for fewer nodes",
		g.needs(), want-used, used, inotifyLimit, limit, why, raised)
}

func readNumber(file string) (uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

// inotifyUsed counts the instances of a user's processes, as far as they can be seen. A process may end meanwhile.
func inotifyUsed(proc string, uid int) (used uint64) {
	dirs, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, dir := range dirs {
		if effectiveUser(dir) != strconv.Itoa(uid) {
			continue
		}
		fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, fd := range fds {
			if target, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name())); target == "anon_inode:inotify" {
				used++
			}
		}
	}
	return used
}

func effectiveUser(dir string) string {
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			return f[2]
		}
	}
	return ""
}

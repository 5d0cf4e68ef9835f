//go:build linux

package testbed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchy is one mounted control group tree. Version 1 has one per controller, version 2 a single one.
type hierarchy struct {
	// Dir is where it is mounted on this machine.
	Dir string
	// Options are the mount options that name it ("cpu,cpuacct", "name=systemd"); empty for version 2.
	Options string
}

func (h hierarchy) v2() bool { return h.Options == "" }

// hierarchies reads the control group mounts of a mountinfo file; a tree that is mounted twice is listed once.
func hierarchies(mountinfo io.Reader) ([]hierarchy, error) {
	var hs []hierarchy
	s := bufio.NewScanner(mountinfo)
	for s.Scan() {
		h, ok := parseHierarchy(s.Text())
		if ok && !slices.ContainsFunc(hs, func(x hierarchy) bool { return x.Options == h.Options }) {
			hs = append(hs, h)
		}
	}
	return hs, s.Err()
}

// parseHierarchy reads one line of mountinfo, see proc(5): "36 35 98:0 /root /dir opts - type source superopts".
func parseHierarchy(line string) (hierarchy, bool) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Fields(left), strings.Fields(right)
	if !ok || len(l) < 6 || len(r) < 3 {
		return hierarchy{}, false
	}
	switch r[0] {
	case "cgroup2":
		return hierarchy{Dir: l[4]}, true
	case "cgroup":
		o := controllerOptions(r[2])
		return hierarchy{Dir: l[4], Options: o}, o != ""
	}
	return hierarchy{}, false
}

// controllerOptions drops the super block options that do not name a hierarchy.
func controllerOptions(super string) string {
	keep := slices.DeleteFunc(strings.Split(super, ","), func(o string) bool {
		return slices.Contains([]string{"rw", "ro", "xattr", "noprefix", "clone_children", "none", "cpuset_v2_mode"}, o) ||
			strings.HasPrefix(o, "release_agent=")
	})
	return strings.Join(keep, ",")
}

// cgroups is one group of the same name in every hierarchy.
type cgroups struct {
	hs   []hierarchy
	name string
}

// machineCgroups returns the root group of every hierarchy of this machine.
func machineCgroups() (cgroups, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return cgroups{}, err
	}
	defer f.Close()
	hs, err := hierarchies(f)
	if err == nil && len(hs) == 0 {
		err = errors.New("no control groups are mounted below /sys/fs/cgroup; mount them (on Debian: install and boot with systemd)")
	}
	return cgroups{hs: hs}, err
}

// unified is true on machines with version 2 only. That case follows the kernel's documentation but is not exercised by
// the project's own tests, which run on version 1 with the hybrid layout.
func (c cgroups) unified() bool { return len(c.hs) == 1 && c.hs[0].v2() }

func (c cgroups) child(name string) cgroups {
	return cgroups{hs: c.hs, name: filepath.Join(c.name, name)}
}

func (c cgroups) dirs() []string {
	dirs := make([]string, len(c.hs))
	for i, h := range c.hs {
		dirs[i] = filepath.Join(h.Dir, c.name)
	}
	return dirs
}

// create makes the group in every hierarchy. Its parent must exist: a process that outlived its cluster must not bring
// the cluster's groups back.
func (c cgroups) create() error {
	for i, dir := range c.dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := prepareGroup(c.hs[i], dir); err != nil {
			return fmt.Errorf("prepare control group %s: %w", dir, err)
		}
	}
	return nil
}

// prepareGroup makes a new group usable: version 1 cpusets start empty, version 2 children start without controllers.
func prepareGroup(h hierarchy, dir string) error {
	parent := filepath.Dir(dir)
	if h.v2() {
		controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
		if err != nil || len(strings.Fields(string(controllers))) == 0 {
			return err
		}
		enable := "+" + strings.Join(strings.Fields(string(controllers)), " +")
		return os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte(enable), 0o644)
	}
	if !slices.Contains(strings.Split(h.Options, ","), "cpuset") {
		return nil
	}
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		v, err := os.ReadFile(filepath.Join(parent, f))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f), v, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0o644)
}

// join moves the calling process into the group.
func (c cgroups) join() error {
	for _, dir := range c.dirs() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("join control group: %w", err)
		}
	}
	return nil
}

// pids lists the processes of the group and all groups below it, in this process's PID namespace.
func (c cgroups) pids() []int {
	seen := map[int]bool{}
	for _, dir := range c.dirs() {
		// A group that vanishes while it is read has no processes: errors mean nothing here.
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				for _, p := range readPIDs(filepath.Join(path, "cgroup.procs")) {
					seen[p] = true
				}
			}
			return nil
		})
	}
	delete(seen, 0)
	pids := make([]int, 0, len(seen))
	for p := range seen {
		pids = append(pids, p)
	}
	slices.Sort(pids)
	return pids
}

func readPIDs(file string) []int {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		if p, err := strconv.Atoi(f); err == nil {
			pids = append(pids, p)
		}
	}
	return pids
}

// destroy kills every process in the group and removes it with all groups below it.
func (c cgroups) destroy(ctx context.Context) error {
	killed := map[int]bool{}
	err := poll(ctx, "control group "+c.name+" to be empty", func() (bool, error) {
		pids := c.pids()
		for _, p := range pids {
			killed[p] = true
			_ = unix.Kill(p, unix.SIGKILL)
		}
		return c.remove(), fmt.Errorf("processes %v", pids)
	})
	if err != nil {
		return err
	}
	return poll(ctx, "killed processes to be gone", func() (bool, error) { return !anyAlive(killed), nil })
}

// anyAlive is true while one of the processes exists, if only until its parent has collected it.
func anyAlive(pids map[int]bool) bool {
	for p := range pids {
		if unix.Kill(p, 0) == nil {
			return true
		}
	}
	return false
}

// remove deletes the empty groups, deepest first, and is true when none is left.
func (c cgroups) remove() bool {
	gone := true
	for _, dir := range c.dirs() {
		var found []string
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				found = append(found, path)
			}
			return nil
		})
		for _, d := range slices.Backward(found) {
			_ = os.Remove(d)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			gone = false
		}
	}
	return gone
}

// firstProcess returns the PID 1 of the node whose group this is, as seen from here, or 0 when the node is off.
func (c cgroups) firstProcess() int {
	for _, p := range c.pids() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
		if err == nil && isNamespaceInit(string(status)) {
			return p
		}
	}
	return 0
}

// isNamespaceInit is true for PID 1 of a PID namespace directly below ours. Containers on a node are one level deeper.
func isNamespaceInit(status string) bool {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "NSpid:" {
			return len(f) == 3 && f[2] == "1"
		}
	}
	return false
}

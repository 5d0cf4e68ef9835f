//go:build linux

package testbed

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestHierarchies(t *testing.T) {
	tests := []struct {
		name, mountinfo string
		want            []hierarchy
		unified         bool
	}{
		{
			name: "version 1, hybrid, one controller each",
			mountinfo: `31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 30 0:35 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
40 30 0:36 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`,
			want: []hierarchy{
				{"/sys/fs/cgroup/cpu", "cpu"},
				{"/sys/fs/cgroup/memory", "memory"},
				{"/sys/fs/cgroup/systemd", "name=systemd"},
				{"/sys/fs/cgroup/unified", ""},
			},
		},
		{
			name: "version 1 as systemd mounts it",
			mountinfo: `31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/cpuset rw,nosuid shared:10 - cgroup cgroup rw,cpuset,clone_children,release_agent=/x`,
			want: []hierarchy{{"/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct"}, {"/sys/fs/cgroup/cpuset", "cpuset"}},
		},
		{
			name:      "version 2",
			mountinfo: "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate",
			want:      []hierarchy{{"/sys/fs/cgroup", ""}},
			unified:   true,
		},
		{
			name: "the same tree mounted twice, other file systems and broken lines",
			mountinfo: `30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
31 23 0:26 / /elsewhere rw - cgroup2 cgroup2 rw
32 23 8:1 / / rw,relatime - ext4 /dev/vda rw
nonsense
1 2 - cgroup`,
			want:    []hierarchy{{"/sys/fs/cgroup", ""}},
			unified: true,
		},
		{name: "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := must(hierarchies(strings.NewReader(tt.mountinfo)))(t)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if u := (cgroups{hs: got}).unified(); u != tt.unified {
				t.Errorf("unified %t, want %t", u, tt.unified)
			}
		})
	}
}

func TestCgroupDirs(t *testing.T) {
	root := cgroups{hs: []hierarchy{{"/c/cpu", "cpu"}, {"/c/unified", ""}}}
	got := root.child("bed").child("node1").dirs()
	want := []string{"/c/cpu/bed/node1", "/c/unified/bed/node1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIsNamespaceInit(t *testing.T) {
	tests := []struct {
		name, status string
		want         bool
	}{
		{"the node's systemd", "Name:\tsystemd\nNSpid:\t15613\t1\nNSpgid:\t15613\t1\n", true},
		{"another process of the node", "Name:\tcron\nNSpid:\t15700\t40\n", false},
		{"PID 1 of a container on the node", "Name:\tpause\nNSpid:\t15900\t99\t1\n", false},
		{"a process of this machine", "Name:\tetcd\nNSpid:\t12\n", false},
		{"PID 1 of this machine", "Name:\tinit\nNSpid:\t1\n", false},
		{"no such field", "Name:\tx\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := isNamespaceInit(tt.status); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// fakeGroup makes a folder that looks like a control group whose parent has these files.
func fakeGroup(t *testing.T, parentFiles map[string]string) (parent, dir string) {
	t.Helper()
	parent = t.TempDir()
	for f, v := range parentFiles {
		if err := os.WriteFile(filepath.Join(parent, f), []byte(v), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return parent, filepath.Join(parent, "bed")
}

func TestCreatePreparesGroups(t *testing.T) {
	t.Run("version 1 cpuset takes over its parent's processors", func(t *testing.T) {
		parent, dir := fakeGroup(t, map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"})
		// A real group has its files at once; here they appear by the writes.
		if err := (cgroups{hs: []hierarchy{{parent, "cpuset"}}}).child("bed").create(); err != nil {
			t.Fatal(err)
		}
		for f, want := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n", "cgroup.clone_children": "1"} {
			if got, _ := os.ReadFile(filepath.Join(dir, f)); string(got) != want {
				t.Errorf("%s: %q, want %q", f, got, want)
			}
		}
	})
	t.Run("version 2 passes its controllers on", func(t *testing.T) {
		parent, _ := fakeGroup(t, map[string]string{"cgroup.controllers": "cpu memory pids\n"})
		if err := (cgroups{hs: []hierarchy{{parent, ""}}}).child("bed").create(); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control")); string(got) != "+cpu +memory +pids" {
			t.Errorf("subtree_control: %q", got)
		}
	})
	t.Run("never without its parent", func(t *testing.T) {
		parent, _ := fakeGroup(t, nil)
		if err := (cgroups{hs: []hierarchy{{parent, "cpu"}}}).child("gone").child("node1").create(); err == nil {
			t.Error("a process that outlived its cluster brought the group back")
		}
	})
}

func TestPids(t *testing.T) {
	parent := t.TempDir()
	for f, v := range map[string]string{"bed/cgroup.procs": "12\n7\n", "bed/node1/cgroup.procs": "12\n30\n0\n", "other/cgroup.procs": "99\n"} {
		if err := writeBelow(parent, f, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	got := cgroups{hs: []hierarchy{{parent, "cpu"}}}.child("bed").pids()
	if want := []int{7, 12, 30}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

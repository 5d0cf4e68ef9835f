//go:build linux

package testbed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// nodeBoot is what the first process of a node needs to know; it travels as JSON in the environment.
type nodeBoot struct {
	Name   string
	Dir    string // the node's folder
	Rootfs string // shared root file system
	Bin    string // folder of kubelet and kube-proxy
	Cgroup string // name of the node's control groups
	BootID string
}

// netnsFD is the node's network namespace, passed down by the daemon.
const netnsFD = 3

// fakeSysctls are settings of the whole machine that the kubelet wants to have, and to write. Each node gets its own.
var fakeSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// copiedSysctls are settings of the whole machine that Debian's boot, or a package under test, may write. What a node
// changes of them it alone sees, and only until it boots again. All below vm is copied as well.
var copiedSysctls = []string{
	"fs/aio-max-nr", "fs/file-max", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches",
	"fs/protected_fifos", "fs/protected_hardlinks", "fs/protected_regular", "fs/protected_symlinks",
	"kernel/pid_max", "kernel/sysrq", "kernel/threads-max",
}

// nodeInit runs as PID 1 of a node's new mount, PID, host name and IPC namespaces, puts the node together and becomes
// its systemd. It only returns on failure.
func nodeInit(config string) error {
	runtime.LockOSThread() // namespaces entered below belong to this thread, which execs
	var b nodeBoot
	if err := json.Unmarshal([]byte(config), &b); err != nil {
		return err
	}
	cg, err := machineCgroups()
	if err != nil {
		return err
	}
	if err := enterNode(cg.child(b.Cgroup), b.Name); err != nil {
		return err
	}
	m := mounter{root: filepath.Join(b.Dir, dirMerged)}
	m.rootfs(b)
	m.system()
	m.cgroups(cg)
	m.sysctls(b.BootID)
	m.commandLine()
	if m.err != nil {
		return m.err
	}
	if err := switchRoot(m.root); err != nil {
		return err
	}
	env := []string{"container=testbed", "PATH=" + nodePath, "TERM=dumb"}
	return unix.Exec("/lib/systemd/systemd",
		[]string{"/lib/systemd/systemd", "--log-target=journal-or-kmsg", "--show-status=true"}, env)
}

const nodePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func enterNode(group cgroups, name string) error {
	if err := group.join(); err != nil {
		return err
	}
	// After joining: the group becomes the root that the node sees.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("control group namespace: %w", err)
	}
	if err := unix.Setns(netnsFD, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	unix.CloseOnExec(netnsFD)
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// mounter builds a root file system and remembers the first failure.
type mounter struct {
	root string
	err  error
}

func (m *mounter) path(p string) string { return filepath.Join(m.root, p) }

func (m *mounter) mount(fstype, target, data string) {
	m.mkdir(target)
	if m.err == nil {
		m.fail("mount "+target, unix.Mount(fstype, m.path(target), fstype, 0, data))
	}
}

func (m *mounter) bind(source, target string, flags uintptr) {
	if m.err != nil {
		return
	}
	m.fail("mount "+target, unix.Mount(source, m.path(target), "", unix.MS_BIND, ""))
	if flags != 0 && m.err == nil {
		m.fail("remount "+target, unix.Mount("", m.path(target), "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""))
	}
}

func (m *mounter) mkdir(p string) {
	if m.err == nil {
		m.err = os.MkdirAll(m.path(p), 0o755)
	}
}

func (m *mounter) file(p, content string) {
	if m.err == nil {
		m.err = os.WriteFile(m.path(p), []byte(content), 0o644)
	}
}

func (m *mounter) link(target, p string) {
	if m.err == nil {
		m.err = os.Symlink(target, m.path(p))
	}
}

func (m *mounter) fail(what string, err error) {
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("%s: %w", what, err)
	}
}

// rootfs lays the node's own files over the shared ones and mounts what must not lie on an overlay.
func (m *mounter) rootfs(b nodeBoot) {
	at := func(d string) string { return filepath.Join(b.Dir, d) }
	m.fail("mount root file system", unix.Mount("overlay", m.root, "overlay", 0,
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", b.Rootfs, at(dirUpper), at(dirWork))))
	for target, source := range map[string]string{
		"var/lib/containerd": at(dirContainerd),
		"var/lib/kubelet":    at(dirKubelet),
	} {
		m.mkdir(target)
		m.bind(source, target, 0)
	}
	m.mkdir("usr/local/lib/testbed")
	m.bind(b.Bin, "usr/local/lib/testbed", unix.MS_RDONLY)
}

// system mounts what a kernel and a boot loader leave to a container's manager.
func (m *mounter) system() {
	m.mount("proc", "proc", "")
	m.mount("sysfs", "sys", "")
	m.mount("tmpfs", "dev", "mode=755")
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg"} {
		m.file("dev/"+d, "")
		m.bind("/dev/"+d, "dev/"+d, 0)
	}
	m.mount("devpts", "dev/pts", "newinstance,ptmxmode=0666,mode=620,gid=5")
	m.mount("tmpfs", "dev/shm", "mode=1777")
	m.mount("mqueue", "dev/mqueue", "")
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0",
		"stdout": "fd/1", "stderr": "fd/2",
	} {
		m.link(target, "dev/"+name)
	}
	m.mount("tmpfs", "run", "mode=755")
	m.mount("tmpfs", "tmp", "mode=1777")
}

// cgroups mounts the hierarchies anew, so that they show the node's group as their root.
func (m *mounter) cgroups(c cgroups) {
	if c.unified() {
		m.mount("cgroup2", "sys/fs/cgroup", "")
		return
	}
	m.mount("tmpfs", "sys/fs/cgroup", "mode=755")
	for _, h := range c.hs {
		if h.v2() {
			continue // the node's systemd runs in version 1 mode
		}
		dir := "sys/fs/cgroup/" + filepath.Base(h.Dir)
		opts := h.Options
		if strings.HasPrefix(opts, "name=") {
			opts = "none," + opts
		}
		m.mkdir(dir)
		if m.err == nil {
			m.fail("mount "+dir, unix.Mount("cgroup", m.path(dir), "cgroup", 0, opts))
		}
		m.aliases(filepath.Base(h.Dir))
	}
}

// aliases links cpu and cpuacct to "cpu,cpuacct".
func (m *mounter) aliases(base string) {
	names := strings.Split(base, ",")
	if len(names) < 2 {
		return
	}
	for _, n := range names {
		m.link(base, "sys/fs/cgroup/"+n)
	}
}

// sysctls gives the node its own boot id and its own copy of settings that belong to the machine.
func (m *mounter) sysctls(bootID string) {
	m.mkdir("run/testbed")
	m.copyFolder("proc/sys/vm", "run/testbed/vm")
	values := maps.Clone(fakeSysctls)
	values["kernel/random/boot_id"] = bootID
	for _, key := range copiedSysctls {
		value, _ := os.ReadFile(m.path("proc/sys/" + key))
		values[key] = strings.TrimSuffix(string(value), "\n")
	}
	for key, value := range values {
		if _, err := os.Stat(m.path("proc/sys/" + key)); errors.Is(err, fs.ErrNotExist) {
			continue // this kernel has no such setting
		}
		file := "run/testbed/" + strings.ReplaceAll(key, "/", ".")
		m.file(file, value+"\n")
		m.bind(m.path(file), "proc/sys/"+key, 0)
	}
}

// copyFolder lays a copy of a folder's files over it: what is written there stays on the node.
func (m *mounter) copyFolder(target, dir string) {
	m.mkdir(dir)
	if m.err != nil {
		return
	}
	files, err := os.ReadDir(m.path(target))
	m.fail("read "+target, err)
	for _, f := range files {
		// Some can only be written: reading them fails, and their copies are empty.
		value, _ := os.ReadFile(m.path(filepath.Join(target, f.Name())))
		m.file(filepath.Join(dir, f.Name()), string(value))
	}
	m.bind(m.path(dir), target, 0)
}

func switchRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := os.MkdirAll("mnt", 0o755); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "mnt"); err != nil {
		return fmt.Errorf("switch root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/mnt", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave old root: %w", err)
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

package tuned_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// These tests run the package's scripts in the root folder of a pretended
// host: its shell and tools are this machine's, its package managers, systemctl
// and tuned-adm are those of testdata/host, which keep what they know in files.

var template = hostroot.Template{Dirs: []string{"usr/lib/systemd/system", "etc/default", "etc/modprobe.d", "etc/systemd/system"}, Tools: []string{
	"bash", "cat", "chmod", "chown", "cmp", "comm", "cp", "dirname", "env", "find", "grep", "ls", "mkdir", "mktemp", "mv",
	"rm", "rmdir", "sed", "sleep", "sort", "stat", "sync", "tail", "touch", "tr",
}}

func TestMain(m *testing.M) {
	useMemory()
	os.Exit(template.Main(m, func(_, root string) error {
		return os.CopyFS(filepath.Join(root, copyDir, "skyhook_dir"), os.DirFS("skyhook_dir"))
	}))
}

// useMemory has the roots in memory if programs and devices work there: on a
// disk, half of the time goes into making and removing their files.
func useMemory() {
	const memory, noDevices, noPrograms = "/dev/shm", 0x4, 0x8
	var stat syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &stat) == nil && stat.Flags&(noDevices|noPrograms) == 0 {
		_ = os.Setenv("TMPDIR", memory)
	}
}

const (
	copyDir  = "/var/lib/skyhook/demo/tuning-1.3.0-uid-1"
	stateDir = "/var/lib/skyhook/demo/tuned/tuning"
)

// host is the root folder of one host with the package on it.
type host struct {
	t    testing.TB
	root string
	env  map[string]string
}

// distribution is what a host says it is, and the tools it has.
type distribution struct {
	osRelease string
	tools     []string
}

var debian = distribution{"ID=debian\n", aptTools}

// rpmTools are the three that are told apart by what they note; each is tested
// with its own family.
var rpmTools = map[string]distribution{
	"dnf":    {"ID=x\nID_LIKE=rhel\n", []string{"dnf", "rpm", "grub2-editenv"}},
	"yum":    {"ID=x\nID_LIKE=rhel\n", []string{"yum", "rpm", "grub2-editenv"}},
	"zypper": {"ID=x\nID_LIKE=suse\n", []string{"zypper", "rpm", "grub2-editenv"}},
}

var aptTools = []string{"apt-cache", "apt-get", "apt-mark", "dpkg", "dpkg-query", "update-grub"}

// newHost makes a host where tuned can be installed, and is not.
func newHost(t testing.TB, d distribution) *host {
	t.Helper()
	h := &host{t: t, root: template.New(t), env: map[string]string{
		"PATH":                 "/usr/bin",
		"SKYHOOK_DIR":          copyDir,
		"SKYHOOK_ROOT_DIR":     "/var/lib/skyhook/demo",
		"SKYHOOK_RESOURCE_ID":  "demo-uid-1_tuning_1.3.0",
		"TUNED_SETTLE_SECONDS": "0",
	}}
	h.write("/etc/os-release", d.osRelease)
	h.write("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
	h.write("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"")
	if slices.Contains(d.tools, "update-grub") {
		h.write("/boot/grub.cfg", "plain\n")
	}
	if slices.Contains(d.tools, "grub2-editenv") {
		h.write("/boot/grub2/grubenv", "# GRUB Environment Block\nsaved_entry=0\n")
	}
	h.must(hostroot.CopyFile("testdata/host/packages", h.path("/fake/packages")))
	for _, tool := range append([]string{"systemctl"}, d.tools...) {
		h.must(hostroot.CopyFile("testdata/host/"+tool, h.path("/usr/bin", tool)))
	}
	h.fill()
	return h
}

// clone is a host that is just like this one.
func (h *host) clone() *host {
	h.t.Helper()
	return &host{t: h.t, root: hostroot.Clone(h.t, h.root), env: maps.Clone(h.env)}
}

// fill stocks the repository: tuned needs two packages, one of which is there
// already, and one of the two needs a third.
func (h *host) fill() {
	h.t.Helper()
	for name, needs := range map[string]string{
		"tuned": "dbus python3-gi", "dbus": "", "python3-gi": "libglib", "libglib": "", "bash": "", "cockpit": "tuned", "monitor": "libglib", "docker": "bash",
	} {
		h.write("/fake/repository/"+name, needs)
	}
	for _, name := range []string{"dbus", "bash"} {
		h.write("/fake/installed/"+name, "ii\n")
	}
	for _, dir := range []string{"active", "manual", "masked", "breaks", "upstream", "twice"} {
		h.must(os.MkdirAll(h.path("/fake", dir), 0o755))
	}
	for name, content := range map[string]string{
		"usr/lib/systemd/system/tuned.service":                "[Service]\n",
		"usr/lib/tuned/balanced/tuned.conf":                   "[main]\nsummary=General non-specialized\n",
		"usr/lib/tuned/throughput/tuned.conf":                 "[main]\nsummary=Throughput\n",
		"usr/lib/tuned/plain/tuned.conf":                      "[sysctl]\n",
		"etc/tuned/active_profile":                            "",
		"etc/tuned/profile_mode":                              "",
		"etc/tuned/post_loaded_profile":                       "",
		"etc/tuned/bootcmdline":                               "TUNED_BOOT_CMDLINE=\n",
		"etc/modprobe.d/tuned.conf":                           "# modules\n",
		"usr/lib/tuned/" + longName + "/tuned.conf":           "[main]\nsummary=Touches its name\n",
		"usr/lib/tuned/" + longName + "2/tuned.conf":          "[main]\nsummary=Touches its name too\n",
		"usr/lib/tuned/needs-missing/tuned.conf":              "[main]\ninclude=missing\n",
		"usr/lib/tuned/with-own-included/tuned.conf":          "[main]\ninclude=web\n",
		"usr/lib/tuned/twenty-six-characters-name/tuned.conf": "[main]\nsummary=One blank\n",
	} {
		h.write("/fake/files/tuned/"+name, content)
	}
	for _, tool := range []string{"tuned-adm", "tuned"} {
		h.must(hostroot.CopyFile("testdata/host/tuned-adm", h.path("/fake/files/tuned/usr/bin", tool)))
	}
}

// longName is so long that tuned-adm list leaves no blank behind it.
const longName = "nvidia-gb200-multiNodeTraining"

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// path is where a path of the host is on this machine.
func (h *host) path(elements ...string) string {
	return filepath.Join(h.root, filepath.Join(elements...))
}

func (h *host) write(name, content string) {
	h.t.Helper()
	h.must(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.must(os.WriteFile(h.path(name), []byte(content), 0o644))
}

func (h *host) remove(name string) {
	h.t.Helper()
	h.must(os.RemoveAll(h.path(name)))
}

func (h *host) read(name string) string {
	h.t.Helper()
	raw, err := os.ReadFile(h.path(name))
	h.must(err)
	return string(raw)
}

func (h *host) has(name string) bool {
	_, err := os.Lstat(h.path(name))
	return err == nil
}

// configMap lays out the keys as a copied mount of a configMap has them.
func (h *host) configMap(keys map[string]string) {
	h.t.Helper()
	dir := copyDir + "/configmaps"
	h.remove(dir)
	for key, content := range keys {
		h.write(dir+"/..2026_11_20/"+key, content)
		h.must(os.Symlink("..data/"+key, h.path(dir, key)))
	}
	h.must(os.MkdirAll(h.path(dir), 0o755))
	h.must(os.Symlink("..2026_11_20", h.path(dir, "..data")))
}

// result is how a step went.
type result struct {
	code           int
	stdout, stderr string
}

// command is one step, or anything else in the host's root.
func (h *host) command(args ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: args[0], Args: args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: h.root, Setpgid: true}}
	for name, value := range h.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func (h *host) run(step string) result {
	h.t.Helper()
	return h.exec(copyDir+"/skyhook_dir/tuned.sh", step)
}

func (h *host) exec(args ...string) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// succeed runs steps that must succeed, and say nothing of errors.
func (h *host) succeed(steps ...string) result {
	h.t.Helper()
	var r result
	for _, step := range steps {
		if r = h.run(step); r.code != 0 || r.stderr != "" {
			h.t.Fatalf("%s exited %d\n%s%s", step, r.code, r.stdout, r.stderr)
		}
	}
	return r
}

// fail runs a step that must fail, for a reason that has all these words and
// is the last line.
func (h *host) fail(step string, words ...string) result {
	h.t.Helper()
	r := h.run(step)
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	for _, word := range words {
		if reason := lines[len(lines)-1]; r.code != 1 || !strings.Contains(reason, word) {
			h.t.Fatalf("%s exited %d; want %q in the last line of\n%s%s", step, r.code, word, r.stdout, r.stderr)
		}
	}
	return r
}

// admin runs commands of the host, as an admin would.
func (h *host) admin(command string) {
	h.t.Helper()
	if r := h.exec("/usr/bin/bash", "-c", command); r.code != 0 {
		h.t.Fatalf("%s: %+v", command, r)
	}
}

func (h *host) active() string {
	h.t.Helper()
	return strings.TrimSpace(h.read("/etc/tuned/active_profile"))
}

func (h *host) installed() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.path("/fake/installed"))
	h.must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// calls counts the commands the host has seen that begin with these words.
func (h *host) calls(words string) int {
	h.t.Helper()
	return strings.Count("\n"+h.read("/fake/calls"), "\n"+words)
}

// etc is all there is below /etc, and the state: by path, with modes.
func (h *host) etc() map[string]string {
	h.t.Helper()
	found := map[string]string{}
	for _, top := range []string{"/etc", "/boot", "/var/lib/skyhook/demo/tuned", "/var/log", "/usr/lib/tuned", "/fake/installed", "/fake/active"} {
		err := filepath.WalkDir(h.path(top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			content := ""
			if err == nil && entry.Type().IsRegular() {
				var raw []byte
				raw, err = os.ReadFile(path)
				content = string(raw)
			}
			found[strings.TrimPrefix(path, h.root)] = info.Mode().String() + " " + content
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.t.Fatal(err)
		}
	}
	return found
}

// expectEtc wants the host as it was.
func (h *host) expectEtc(before map[string]string) {
	h.t.Helper()
	after := h.etc()
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if now, there := after[path]; !there || now != before[path] {
			h.t.Errorf("%s was %q, is %q (there: %v)", path, before[path], now, there)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[path]; !there {
			h.t.Errorf("%s was not there, is %q", path, after[path])
		}
	}
}

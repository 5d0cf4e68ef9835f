//go:build integration

package tuned_test

import (
	"maps"
	"os"
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
	copyDir  = "/var/lib/skyhook/demo/tuning-1.4.0-uid-1"
	stateDir = "/var/lib/skyhook/demo/tuned/tuning"
)

// host is the root folder of one host with the package on it.
type host struct{ *hostroot.Host }

// distribution is what a host says it is, and the tools it has.
type distribution struct {
	osRelease string
	tools     []string
}

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
	h := &host{template.Host(t, map[string]string{
		"PATH":                 "/usr/bin",
		"SKYHOOK_DIR":          copyDir,
		"SKYHOOK_ROOT_DIR":     "/var/lib/skyhook/demo",
		"SKYHOOK_RESOURCE_ID":  "demo-uid-1_tuning_1.4.0",
		"TUNED_SETTLE_SECONDS": "0",
	})}
	h.Write("/etc/os-release", d.osRelease)
	h.Write("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
	h.Write("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"")
	if slices.Contains(d.tools, "update-grub") {
		h.Write("/boot/grub.cfg", "plain\n")
	}
	if slices.Contains(d.tools, "grub2-editenv") {
		h.Write("/boot/grub2/grubenv", "# GRUB Environment Block\nsaved_entry=0\n")
	}
	h.Must(hostroot.CopyFile("testdata/host/packages", h.Path("/fake/packages")))
	for _, tool := range append([]string{"systemctl"}, d.tools...) {
		h.Must(hostroot.CopyFile("testdata/host/"+tool, h.Path("/usr/bin", tool)))
	}
	h.fill()
	return h
}

func newDebian(t testing.TB) *host {
	t.Helper()
	return newHost(t, distribution{"ID=debian\n", aptTools})
}

// clone is a host that is just like this one.
func (h *host) clone() *host {
	h.T.Helper()
	return &host{&hostroot.Host{T: h.T, Root: hostroot.Clone(h.T, h.Root), Env: maps.Clone(h.Env)}}
}

// fill stocks the repository: tuned needs two packages, one of which is there
// already, and one of the two needs a third.
func (h *host) fill() {
	h.T.Helper()
	for name, needs := range map[string]string{
		"tuned": "dbus python3-gi", "dbus": "", "python3-gi": "libglib", "libglib": "", "bash": "", "cockpit": "tuned", "monitor": "libglib", "docker": "bash",
	} {
		h.Write("/fake/repository/"+name, needs)
	}
	for _, name := range []string{"dbus", "bash"} {
		h.Write("/fake/installed/"+name, "ii\n")
	}
	for _, dir := range []string{"active", "manual", "masked", "breaks", "upstream", "twice"} {
		h.Must(os.MkdirAll(h.Path("/fake", dir), 0o755))
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
		h.Write("/fake/files/tuned/"+name, content)
	}
	for _, tool := range []string{"tuned-adm", "tuned"} {
		h.Must(hostroot.CopyFile("testdata/host/tuned-adm", h.Path("/fake/files/tuned/usr/bin", tool)))
	}
}

// longName is so long that tuned-adm list leaves no blank behind it.
const longName = "nvidia-gb200-multiNodeTraining"

// configMap gives the package these keys.
func (h *host) configMap(keys map[string]string) {
	h.T.Helper()
	h.ConfigMap(copyDir+"/configmaps", keys)
}

// result is how a step went.
type result = hostroot.Result

func (h *host) run(step string) result {
	h.T.Helper()
	return h.Run(copyDir+"/skyhook_dir/tuned.sh", step)
}

// succeed runs steps that must succeed, and say nothing of errors.
func (h *host) succeed(steps ...string) result {
	h.T.Helper()
	var r result
	for _, step := range steps {
		if r = h.run(step); r.Code != 0 || r.Stderr != "" {
			h.T.Fatalf("%s exited %d\n%s%s", step, r.Code, r.Stdout, r.Stderr)
		}
	}
	return r
}

// fail runs a step that must fail, for a reason that has all these words and
// is the last line.
func (h *host) fail(step string, words ...string) result {
	h.T.Helper()
	r := h.run(step)
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	for _, word := range words {
		if reason := lines[len(lines)-1]; r.Code != 1 || !strings.Contains(reason, word) {
			h.T.Fatalf("%s exited %d; want %q in the last line of\n%s%s", step, r.Code, word, r.Stdout, r.Stderr)
		}
	}
	return r
}

// admin runs commands of the host, as an admin would.
func (h *host) admin(command string) {
	h.T.Helper()
	if r := h.Run("/usr/bin/bash", "-c", command); r.Code != 0 {
		h.T.Fatalf("%s: %+v", command, r)
	}
}

func (h *host) active() string {
	h.T.Helper()
	return strings.TrimSpace(h.Read("/etc/tuned/active_profile"))
}

func (h *host) installed() []string {
	h.T.Helper()
	entries, err := os.ReadDir(h.Path("/fake/installed"))
	h.Must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// calls counts the commands the host has seen that begin with these words.
func (h *host) calls(words string) int {
	h.T.Helper()
	return strings.Count("\n"+h.Read("/fake/calls"), "\n"+words)
}

// watched is what an uninstall must leave as it was before.
var watched = []string{"/etc", "/boot", "/var/lib/skyhook/demo/tuned", "/var/log", "/usr/lib/tuned", "/fake/installed", "/fake/active"}

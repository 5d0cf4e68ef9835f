//go:build integration

package tuning_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// These tests run the package's scripts in the root folder of a host, made
// from the shell and tools of the machine they run on. The values of the
// kernel are plain files there, so that the machine keeps its own.

var template = hostroot.Template{Dirs: []string{"run"}, Tools: []string{
	"awk", "bash", "cat", "cp", "date", "env", "flock", "grep", "mkdir", "mv", "nsenter", "readlink", "rm", "rmdir",
	"sed", "sha256sum", "sort", "sync", "sysctl", "tr",
}}

func TestMain(m *testing.M) {
	os.Exit(template.Main(m, func(string, string) error { return nil }))
}

// host is the root folder of a host, with the package on it.
type host struct{ *hostroot.Host }

const (
	skyhookDir = "/var/lib/skyhook/demo"
	stateDir   = skyhookDir + "/tuning/web"
)

// debianFiles and rhelFiles are what the package finds on such a host.
var (
	commonFiles = map[string]string{
		"/proc/sys/net/core/somaxconn":                     "4096\n",
		"/proc/sys/net/ipv4/tcp_rmem":                      "4096\t131072\t6291456\n",
		"/proc/sys/net/ipv4/ip_local_reserved_ports":       "\n",
		"/proc/sys/net/ipv4/conf/all/rp_filter":            "0\n",
		"/proc/sys/net/ipv4/conf/eth0/rp_filter":           "0\n",
		"/proc/sys/net/ipv4/conf/eth0.200/rp_filter":       "0\n",
		"/proc/sys/vm/swappiness":                          "60\n",
		"/proc/sys/fs/nr_open":                             "1048576\n",
		"/proc/sys/kernel/random/boot_id":                  "boot-1\n",
		"/proc/cmdline":                                    "BOOT_IMAGE=/boot/vmlinuz root=UUID=1 ro quiet\n",
		"/etc/sysctl.d/10-host.conf":                       "# the host's own\nkernel.printk = 4 4 1 7\n",
		"/etc/security/limits.d/10-host.conf":              "* hard core 0\n",
		"/etc/systemd/system/multi-user.target.wants/none": "",
		"/run/units/cron.service/ActiveState":              "inactive\n",
		"/run/units/cron.service/MainPID":                  "0\n",
		"/run/units/my_svc.service/ActiveState":            "inactive\n",
		"/run/units/a.b@c.service/ActiveState":             "inactive\n",
		"/run/units/a.b@.service/ActiveState":              "",
		"/run/units/docker.socket/ActiveState":             "inactive\n",
		"/run/calls":                                       "",
	}
	debianFiles = map[string]string{
		"/etc/pam.d/common-session":                "# Debian\nsession [default=1] pam_permit.so\nsession required pam_unix.so\n",
		"/etc/pam.d/common-session-noninteractive": "session required pam_unix.so\n# no newline at the end",
		"/etc/pam.d/login":                         "session required pam_limits.so\n@include common-session\n",
		"/etc/default/grub":                        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet console=ttyS0\"\n",
		"/etc/default/grub.d/50-cloud.cfg":         "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT cloud=1\"\n",
	}
	rhelFiles = map[string]string{
		"/etc/pam.d/system-auth":       "session required pam_limits.so\nsession required pam_unix.so\n",
		"/etc/pam.d/password-auth":     "session required pam_limits.so\n",
		"/etc/default/grub":            "GRUB_CMDLINE_LINUX=\"quiet\"\n",
		"/boot/loader/entries/1.conf":  "ro\nquiet\nhugepages=2\n",
		"/boot/loader/entries/2.conf":  "ro\nquiet\nhugepages=2\n",
		"/boot/loader/entries/unused~": "",
	}
)

func newDebian(t testing.TB) *host {
	t.Helper()
	h := newHost(t, debianFiles, "systemctl", "update-grub")
	h.tool("update-grub")
	h.Write("/run/calls", "")
	return h
}

func newRHEL(t testing.TB) *host {
	t.Helper()
	return newHost(t, rhelFiles, "systemctl", "grubby")
}

func newHost(t testing.TB, files map[string]string, standIns ...string) *host {
	t.Helper()
	h := &host{template.Host(t, map[string]string{
		"PATH":                "/usr/bin",
		"SKYHOOK_DIR":         skyhookDir + "/web-1.3.0",
		"SKYHOOK_ROOT_DIR":    skyhookDir,
		"SKYHOOK_RESOURCE_ID": "demo-uid-1_web_1.3.0",
	})}
	for _, some := range []map[string]string{commonFiles, files} {
		for name, content := range some {
			h.Write(name, content)
		}
	}
	for _, name := range standIns {
		h.Must(hostroot.CopyFile(filepath.Join("testdata", name), h.Path("/usr/bin", name)))
	}
	h.Must(os.CopyFS(h.Path("/package"), os.DirFS("skyhook_dir")))
	h.tool("systemctl", "daemon-reload")
	h.Write("/run/calls", "")
	return h
}

// configMap gives the package these keys.
func (h *host) configMap(keys map[string]string) {
	h.T.Helper()
	h.ConfigMap(h.Env["SKYHOOK_DIR"]+"/configmaps", keys)
}

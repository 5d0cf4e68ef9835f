//go:build integration

package tuning_test

import (
	"os/exec"
	"strings"
	"testing"
)

// onKernel runs a bash script with the values of the real kernel instead of the
// plain files: those of network, IPC and processes of its own, so that the
// machine's stay as they are. The package's modes are functions there.
func (h *host) onKernel(script string) string {
	h.T.Helper()
	var text strings.Builder
	text.WriteString("set -e\nmount -t proc proc " + h.Path("/proc") + "\n")
	for name, value := range h.Env {
		text.WriteString("export " + name + "='" + value + "'\n")
	}
	text.WriteString("PATH=$PATH:/usr/sbin:/bin:/sbin\n")
	text.WriteString("tuning() { chroot " + h.Root + ` /package/tuning.sh "$1"; }` + "\n")
	text.WriteString("live() { cat \"" + h.Path("/proc/sys") + `/$1" | tr '\t' ' '; }` + "\n" + script)
	out, err := exec.Command("unshare", "--net", "--ipc", "--pid", "--mount", "--fork", "bash", "-c", text.String()).CombinedOutput()
	if err != nil {
		h.T.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestRealKernel(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"sysctl.conf": `
net.ipv4.ip_local_port_range = 20000 60999
net.ipv4.ip_local_reserved_ports = 30001,30000,30005
net.core.somaxconn = 0x100
net.ipv4.conf.*.rp_filter = 2
-net.ipv4.conf.all.rp_filter
`})
	got := h.onKernel(`
keys="net/ipv4/ip_local_port_range net/ipv4/ip_local_reserved_ports net/core/somaxconn net/ipv4/conf/all/rp_filter net/ipv4/conf/lo/rp_filter"
values() { for key in $keys; do live $key; done; }
before=$(values)
for mode in config config-check post-interrupt-check; do tuning $mode; done
values
tuning uninstall
tuning uninstall-check
test "$before" = "$(values)"
`)
	if want := "20000 60999\n30000-30001,30005\n256\n0\n2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRealKernelWithoutAValue: the first word of several, and none at all.
func TestRealKernelWithoutAValue(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"sysctl.conf": "net.ipv4.ip_local_reserved_ports =\nnet.ipv4.tcp_rmem = 5000\n"})
	got := h.onKernel(`
echo 30000 >` + h.Path(proc, "net/ipv4/ip_local_reserved_ports") + `
for mode in config config-check post-interrupt-check; do tuning $mode; done
live net/ipv4/ip_local_reserved_ports
live net/ipv4/tcp_rmem | cut -d" " -f1
tuning uninstall
live net/ipv4/ip_local_reserved_ports
`)
	if got != "\n5000\n30000\n" {
		t.Errorf("got %q", got)
	}
	h.configMap(map[string]string{"sysctl.conf": "net.core.somaxconn =\n"})
	if got := h.onKernel("! tuning config"); !strings.Contains(got, "sysctl.conf: net.core.somaxconn cannot be empty: ") || !strings.Contains(got, "Invalid argument") {
		t.Errorf("got %q", got)
	}
}

func TestRealKernelRefuses(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"sysctl.conf": "net.core.somaxconn = many\n"})
	got := h.onKernel("! tuning config\nlive net/core/somaxconn")
	if !strings.Contains(got, "sysctl.conf: net.core.somaxconn cannot be many: ") || !strings.Contains(got, "Invalid argument") || !strings.HasSuffix(got, "4096\n") {
		t.Errorf("got %q", got)
	}
	h.expect(sysctlDropIn, "")
}

// TestValuesOfTheHost: a pod has an IPC namespace of its own, and the values
// that belong to it are meant for the host's.
func TestValuesOfTheHost(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"sysctl.conf": "kernel.msgmax = 1234\n"})
	got := h.onKernel(`
pod() { unshare --ipc chroot ` + h.Root + ` /package/tuning.sh "$1"; }
pod config
pod config-check
live kernel/msgmax
pod uninstall
live kernel/msgmax
`)
	if got != "1234\n8192\n" {
		t.Errorf("got %q", got)
	}
}

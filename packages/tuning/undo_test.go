//go:build integration

package tuning_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// TestUndoLeavesNewerValues: what something else has set since is not undone,
// neither by an uninstall nor by a key that is gone.
func TestUndoLeavesNewerValues(t *testing.T) {
	t.Parallel()
	const left = "tuning: %k is left at %l: something else has changed it since this package made it %o; without this package it would be %b\n"
	tests := map[string]struct {
		conf, key, file string
		ours, live      string // live is what something else makes it, if anything
		want, said      string
	}{
		"unchanged":         {"vm.swappiness=10", "vm.swappiness", "", "10", "", "60", ""},
		"in another form":   {"vm.swappiness=0x10", "vm.swappiness", "", "16", "", "60", ""},
		"changed":           {"vm.swappiness=10", "vm.swappiness", "", "10", "99", "99", left},
		"another file":      {"vm.swappiness=10", "vm.swappiness", "vm.swappiness=30\n", "10", "99", "99", left},
		"as it was":         {"vm.swappiness=10", "vm.swappiness", "", "10", "60", "60", ""},
		"as a file has it":  {"vm.swappiness=10", "vm.swappiness", "vm.swappiness=30\n", "10", "30", "30", ""},
		"one of its words":  {"net.ipv4.tcp_rmem=5", "net.ipv4.tcp_rmem", "", "5", "5 6 7", "5 6 7", left},
		"ours was the same": {"vm.swappiness=60", "vm.swappiness", "", "60", "99", "99", left},
		"a pattern":         {"vm.swap*=10", "vm.swappiness", "", "10", "99", "99", left},
	}
	for name, test := range tests {
		for _, undo := range []string{"uninstall", "config"} {
			t.Run(name+", "+undo, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				path := strings.ReplaceAll(test.key, ".", "/")
				before := strings.Join(strings.Fields(h.Read(proc+path)), " ")
				h.configure(map[string]string{"sysctl.conf": test.conf})
				h.Write("/etc/sysctl.d/50-a.conf", test.file)
				if test.live != "" {
					h.Write(proc+path, test.live+"\n")
				}
				if test.file != "" {
					before = "30"
				}
				h.configMap(nil)
				said := h.succeed(undo, undo+"-check")
				if want := strings.NewReplacer("%k", test.key, "%l", test.live, "%o", test.ours, "%b", before).Replace(test.said); said != want {
					t.Errorf("said %q, want %q", said, want)
				}
				h.expectLive(map[string]string{path: test.want})
			})
		}
	}
}

// TestUndoOfRoundedValues: what the kernel made of ours is ours, too.
func TestUndoOfRoundedValues(t *testing.T) {
	t.Parallel()
	for _, minus := range []string{"", "-"} {
		for live, want := range map[string]string{"992": "60", "991": "991"} {
			t.Run(minus+live, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				h.replace("sysctl", `[[ "$*" != *=1000 ]] || set -- -q -w vm/swappiness=992; exec /usr/bin/real-sysctl "$@"`)
				h.configMap(map[string]string{"sysctl.conf": minus + "vm.swappiness=1000"})
				h.succeed("config")
				h.expectLive(map[string]string{"vm/swappiness": "992"})
				h.Write(proc+"vm/swappiness", live+"\n")
				h.uninstall()
				h.expectLive(map[string]string{"vm/swappiness": want})
			})
		}
	}
}

// TestUndoOfAChangeThatWasCutOff: a value is ours while another one is set.
func TestUndoOfAChangeThatWasCutOff(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"sysctl.conf": "vm.swappiness=10"})
	h.replace("sysctl", "exit 1")
	h.configMap(map[string]string{"sysctl.conf": "vm.swappiness=20"})
	h.fail("config", "sysctl.conf: vm.swappiness cannot be 20: sysctl failed")
	h.tool("mv", "/usr/bin/real-sysctl", "/usr/bin/sysctl")
	h.uninstall()
	h.expectLive(map[string]string{"vm/swappiness": "60"})
}

// TestUndoOfPairs: the one is 0 because the other is not, so both are somebody
// else's as soon as either is.
func TestUndoOfPairs(t *testing.T) {
	t.Parallel()
	type row struct{ ratio, bytes string }
	tests := map[string]row{
		"another ratio":  {"30", "0"},
		"another amount": {"0", "7000000"},
	}
	hostroot.Each(t, tests, newDebian, func(t *testing.T, h *host, test row) {
		h.Write(proc+"vm/dirty_ratio", "20\n")
		h.Write(proc+"vm/dirty_bytes", "0\n")
		h.replace("sysctl", `[[ "$*" != *dirty_bytes* ]] || echo 0 >/proc/sys/vm/dirty_ratio
[[ "$*" != *dirty_ratio* ]] || echo 0 >/proc/sys/vm/dirty_bytes
exec /usr/bin/real-sysctl "$@"`)
		h.configure(map[string]string{"sysctl.conf": "vm.dirty_bytes=5000000"})
		h.Write(proc+"vm/dirty_ratio", test.ratio+"\n")
		h.Write(proc+"vm/dirty_bytes", test.bytes+"\n")
		if said := h.succeed("uninstall", "uninstall-check"); !strings.Contains(said, " is left at ") {
			t.Errorf("said %q", said)
		}
		h.expectLive(map[string]string{"vm/dirty_ratio": test.ratio, "vm/dirty_bytes": test.bytes})
	})
}

// TestUndoKeepsForwarding: it was off before the node had pods, and they need it.
func TestUndoKeepsForwarding(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key, file      string
		before, ours   string
		want, saidKept string
	}{
		"ip_forward":       {"net/ipv4/ip_forward", "", "0", "1", "1", "net.ipv4.ip_forward"},
		"a file has 0":     {"net/ipv4/ip_forward", "net.ipv4.ip_forward=0\n", "1", "1", "1", "net.ipv4.ip_forward"},
		"of an interface":  {"net/ipv4/conf/eth0/forwarding", "", "0", "1", "1", "net.ipv4.conf.eth0.forwarding"},
		"a name with dots": {"net/ipv6/conf/eth0.200/forwarding", "", "0", "1", "1", "net.ipv6.conf.eth0/200.forwarding"},
		"of IPv6":          {"net/ipv6/conf/all/forwarding", "", "0", "2", "2", "net.ipv6.conf.all.forwarding"},
		"bridges":          {"net/bridge/bridge-nf-call-iptables", "", "0", "1", "1", "net.bridge.bridge-nf-call-iptables"},
		"bridges, IPv6":    {"net/bridge/bridge-nf-call-ip6tables", "", "0", "1", "1", "net.bridge.bridge-nf-call-ip6tables"},
		"switched off":     {"net/ipv4/ip_forward", "", "1", "0", "1", ""},
		"another key":      {"net/ipv4/ip_forward_use_pmtu", "", "0", "1", "0", ""},
	}
	for name, test := range tests {
		for _, undo := range []string{"uninstall", "config"} {
			t.Run(name+", "+undo, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				h.Write(proc+test.key, test.before+"\n")
				h.Write("/etc/sysctl.d/50-a.conf", test.file)
				h.configure(map[string]string{"sysctl.conf": test.key + "=" + test.ours})
				h.configMap(nil)
				want := ""
				if test.saidKept != "" {
					want = "tuning: " + test.saidKept + " is left at " + test.ours + ": pods' network needs it; without this package it would be 0\n"
				}
				if said := h.succeed(undo, undo+"-check"); said != want {
					t.Errorf("said %q, want %q", said, want)
				}
				h.expectLive(map[string]string{test.key: test.want})
			})
		}
	}
}

// TestRealKernelKeepsForwarding: where one key switches others on as well.
func TestRealKernelKeepsForwarding(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"sysctl.conf": "net.ipv4.conf.*.forwarding = 1\nnet.ipv4.ip_forward = 1\nnet.core.somaxconn = 100\n"})
	got := h.onKernel(`
echo 0 >` + h.Path(proc, "net/ipv4/ip_forward") + `
tuning config
echo 200 >` + h.Path(proc, "net/core/somaxconn") + `
tuning uninstall | sort | grep -v conf
tuning uninstall-check
live net/ipv4/ip_forward
live net/ipv4/conf/all/forwarding
live net/ipv4/conf/lo/forwarding
live net/core/somaxconn
`)
	want := "tuning: net.core.somaxconn is left at 200: something else has changed it since this package made it 100; without this package it would be 4096\n" +
		"tuning: net.ipv4.ip_forward is left at 1: pods' network needs it; without this package it would be 0\n1\n1\n1\n200\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

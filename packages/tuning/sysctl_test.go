//go:build integration

package tuning_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

const proc = "/proc/sys/"

// expectLive compares values of the kernel, whatever is between their words.
func (h *host) expectLive(want map[string]string) {
	h.T.Helper()
	for key, value := range want {
		if got := strings.Join(strings.Fields(h.Read(proc+key)), " "); got != value {
			h.T.Errorf("%s: got %q, want %q", key, got, value)
		}
	}
}

func TestSysctl(t *testing.T) {
	t.Parallel()
	filters := func(all, eth0, vlan string) map[string]string {
		return map[string]string{"net/ipv4/conf/all/rp_filter": all, "net/ipv4/conf/eth0/rp_filter": eth0, "net/ipv4/conf/eth0.200/rp_filter": vlan}
	}
	type row struct {
		conf string
		want map[string]string
	}
	tests := map[string]row{
		"plain":               {"vm.swappiness=10\n", map[string]string{"vm/swappiness": "10"}},
		"blanks":              {" \tvm.swappiness =\t10  \n", map[string]string{"vm/swappiness": "10"}},
		"no newline":          {"vm.swappiness=10", map[string]string{"vm/swappiness": "10"}},
		"comments":            {"# a=b\n; c=d\n\n  # e\nvm.swappiness=10\n", map[string]string{"vm/swappiness": "10"}},
		"several words":       {"net.ipv4.tcp_rmem = 1 \t 2\t3\n", map[string]string{"net/ipv4/tcp_rmem": "1 2 3"}},
		"the last one wins":   {"vm.swappiness=10\nvm.swappiness=20\n", map[string]string{"vm/swappiness": "20"}},
		"slashes":             {"vm/swappiness=10\n", map[string]string{"vm/swappiness": "10"}},
		"a name with a dot":   {"net.ipv4.conf.eth0/200.rp_filter=2\n", filters("0", "0", "2")},
		"the same in slashes": {"net/ipv4/conf/eth0.200/rp_filter=2\n", filters("0", "0", "2")},
		"pattern":             {"net.ipv4.conf.*.rp_filter=1\n", filters("1", "1", "1")},
		"pattern and name":    {"net.ipv4.conf.all.rp_filter=2\nnet.ipv4.conf.*.rp_filter=1\n", filters("2", "1", "1")},
		"pattern and except":  {"net.ipv4.conf.*.rp_filter=1\n-net.ipv4.conf.all.rp_filter\n", filters("0", "1", "1")},
		"ignored failures":    {"-vm.none=1\n- vm.no?e*=1\nvm.swappiness=10\n", map[string]string{"vm/swappiness": "10"}},
		"reserved ports":      {"net.ipv4.ip_local_reserved_ports=8080,9000-9001", map[string]string{"net/ipv4/ip_local_reserved_ports": "8080,9000-9001"}},
		"only comments":       {"# nothing yet\n", nil},
		"no value":            {"net.ipv4.tcp_rmem =\n", map[string]string{"net/ipv4/tcp_rmem": ""}},
		"glob in a value":     {"vm.swappiness=*\n", map[string]string{"vm/swappiness": "*"}},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		before := h.Snapshot(watched...)
		h.configure(map[string]string{"sysctl.conf": test.conf})
		h.expect(sysctlDropIn, test.conf)
		h.expectLive(test.want)
		h.succeed("post-interrupt-check")
		h.uninstall()
		h.ExpectSnapshot(before, watched...)
	})
}

// TestSysctlOfInterfaces that come and go: a pattern is for those there are.
func TestSysctlOfInterfaces(t *testing.T) {
	t.Parallel()
	const filter = "net.ipv4.conf.*.rp_filter=1\n"
	h := newDebian(t)
	h.configure(map[string]string{"sysctl.conf": filter})
	h.Write(proc+"net/ipv4/conf/veth1/rp_filter", "0\n")
	h.succeed("config-check", "post-interrupt-check")
	h.tool("rm", "-r", proc+"net/ipv4/conf/eth0")
	h.succeed("config-check", "config", "config-check")
	h.expectLive(map[string]string{"net/ipv4/conf/veth1/rp_filter": "1"})
	h.replace("sysctl", `[[ "$*" == *veth2* ]] && { rm -r /proc/sys/net/ipv4/conf/veth2; exit 1; }; exec /usr/bin/real-sysctl "$@"`)
	h.Write(proc+"net/ipv4/conf/veth2/rp_filter", "0\n")
	h.configure(map[string]string{"sysctl.conf": filter})
	h.uninstall()
	h.expectLive(map[string]string{"net/ipv4/conf/veth1/rp_filter": "0"})
}

// TestSysctlReadsBack has values that the kernel gives back in another form.
func TestSysctlReadsBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		conf, key, live string
		same            bool
	}{
		{"vm.swappiness=0x10", "vm/swappiness", "16", true},
		{"vm.swappiness=010", "vm/swappiness", "8", true},
		{"vm.swappiness=0", "vm/swappiness", "0", true},
		{"vm.swappiness=10", "vm/swappiness", "11", false},
		{"vm.swappiness=0x10", "vm/swappiness", "17", false},
		{"net.ipv4.tcp_rmem=1 2 3", "net/ipv4/tcp_rmem", "1\t2\t3", true},
		{"net.ipv4.tcp_rmem=1 2 3", "net/ipv4/tcp_rmem", "1\t2", false},
		{"net.ipv4.ip_local_reserved_ports=3,1,2,80-81,9", "net/ipv4/ip_local_reserved_ports", "1-3,9,80-81", true},
		{"net.ipv4.ip_local_reserved_ports=1,2", "net/ipv4/ip_local_reserved_ports", "1-3", false},
		{"-vm.swappiness=10", "vm/swappiness", "11", true},
		{"net.ipv4.tcp_rmem=4", "net/ipv4/tcp_rmem", "4\t4\t1\t7", true},
		{"net.ipv4.tcp_rmem=4 4", "net/ipv4/tcp_rmem", "4\t4\t1\t7", true},
		{"net.ipv4.tcp_rmem=4 1", "net/ipv4/tcp_rmem", "4\t4\t1\t7", false},
		{"net.ipv4.tcp_rmem=4", "net/ipv4/tcp_rmem", "40\t4\t1\t7", false},
		{"net.ipv4.tcp_rmem=a", "net/ipv4/tcp_rmem", "a b", false},
	}
	for _, test := range tests {
		t.Run(test.conf+" "+test.live, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			h.configure(map[string]string{"sysctl.conf": test.conf})
			h.Write(proc+test.key, test.live+"\n")
			for _, mode := range []string{"config-check", "post-interrupt-check"} {
				if test.same {
					h.succeed(mode)
					continue
				}
				name, value, _ := strings.Cut(test.conf, "=")
				live := strings.Join(strings.Fields(test.live), " ")
				h.fail(mode, "sysctl.conf: "+name+" is "+live+", not "+value+"; something else on this host has changed it, or the kernel has")
			}
		})
	}
}

func TestSysctlThatTheKernelRefuses(t *testing.T) {
	t.Parallel()
	type row struct{ behaviour, reason string }
	tests := map[string]row{
		"says so":     {`echo 'sysctl: setting key "vm.swappiness": Invalid argument' >&2; exit 255`, `sysctl: setting key "vm.swappiness": Invalid argument`},
		"says little": {"exit 1", "sysctl failed"},
		"is silent":   {"exit 0", "the kernel made it 60"},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		before := h.Snapshot(watched...)
		h.replace("sysctl", `[[ "$*" == *vm/swappiness* ]] && { `+test.behaviour+"; }\n"+`exec /usr/bin/real-sysctl "$@"`)
		h.configMap(map[string]string{"sysctl.conf": "net.core.somaxconn=5\nvm.swappiness=1000\n"})
		h.fail("config", "sysctl.conf: vm.swappiness cannot be 1000: "+test.reason)
		h.expect(sysctlDropIn, "")
		h.configure(map[string]string{"sysctl.conf": "net.core.somaxconn=5\n-vm.swappiness=1000\n"})
		h.configure(map[string]string{"sysctl.conf": "vm.swappiness=60\n"})
		h.expectLive(map[string]string{"net/core/somaxconn": "4096"})
		h.uninstall()
		h.ExpectSnapshot(before, watched...)
	})
}

// TestSysctlThatTheKernelRounds: config-check takes what config got for it, as
// long as that is something new. After an interrupt single words are compared.
func TestSysctlThatTheKernelRounds(t *testing.T) {
	t.Parallel()
	type row struct {
		key, value, made string
		after            bool // it passes after an interrupt
	}
	tests := map[string]row{
		"a number":        {"vm.swappiness", "1000", "992", false},
		"several numbers": {"net.ipv4.tcp_rmem", "1 2 3", "4096 4096 4096", true},
	}
	hostroot.Each(t, tests, newDebian, func(t *testing.T, h *host, test row) {
		file := proc + strings.ReplaceAll(test.key, ".", "/")
		before := h.Read(file)
		h.replace("sysctl", `[[ "$*" != *'=`+test.value+`' ]] || set -- -q -w '`+strings.TrimPrefix(file, proc)+"="+test.made+`'; exec /usr/bin/real-sysctl "$@"`)
		h.configMap(map[string]string{"sysctl.conf": test.key + "=" + test.value})
		for range 2 {
			if said := h.succeed("config"); !strings.Contains(said, "sysctl.conf: "+test.key+" is not "+test.value+": the kernel made it "+test.made+"; ask for that, or begin the line with -: post-interrupt-check wants what sysctl.conf says") {
				t.Errorf("said %q", said)
			}
			h.succeed("config-check")
		}
		changed := "sysctl.conf: " + test.key + " is %, not " + test.value + "; something else on this host has changed it, or the kernel has"
		if test.after {
			h.succeed("post-interrupt-check")
		} else {
			h.fail("post-interrupt-check", strings.Replace(changed, "%", test.made, 1))
		}
		h.Write(file, "7\n")
		h.fail("config-check", strings.Replace(changed, "%", "7", 1))
		h.Write(file, before)
		h.fail("config-check", strings.Replace(changed, "%", strings.Join(strings.Fields(before), " "), 1))
		h.uninstall()
		h.expect(file, before)
	})
}

// TestSysctlThatCannotBeSetBack: some values can be set once per boot.
func TestSysctlThatCannotBeSetBack(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"sysctl.conf": "vm.swappiness=10"})
	h.replace("sysctl", "exit 1")
	h.configMap(nil)
	if r := h.run("uninstall"); r.Code != 0 || !strings.Contains(r.Stdout, "vm.swappiness stays as it is until the next boot, it cannot be set back to 60") {
		t.Errorf("%+v", r)
	}
	h.succeed("uninstall-check")
}

func TestSysctlIsMissing(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.tool("rm", "/usr/bin/sysctl")
	h.configMap(map[string]string{"sysctl.conf": "vm.swappiness=10"})
	h.fail("config", "sysctl.conf: sysctl is missing on this host; install procps")
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
}

// TestSysctlRemovedKeys have the value of another file again, as the next boot
// would give them, else the one from before.
func TestSysctlRemovedKeys(t *testing.T) {
	t.Parallel()
	type row struct {
		files map[string]string
		want  string
	}
	tests := map[string]row{
		"none":                {nil, "60"},
		"another key":         {map[string]string{"/etc/sysctl.d/50-a.conf": "vm.swap=1\n"}, "60"},
		"a file":              {map[string]string{"/etc/sysctl.d/50-a.conf": "vm.swappiness=1\n"}, "1"},
		"a file in lib":       {map[string]string{"/usr/lib/sysctl.d/50-a.conf": "# x\nvm.swappiness = 1"}, "1"},
		"by name, not folder": {map[string]string{"/usr/lib/sysctl.d/60-b.conf": "vm.swappiness=1\n", "/etc/sysctl.d/50-a.conf": "vm.swappiness=2\n"}, "1"},
		"masked":              {map[string]string{"/usr/lib/sysctl.d/60-b.conf": "vm.swappiness=1\n", "/run/sysctl.d/60-b.conf": "vm.swappiness=2\n", "/etc/sysctl.d/60-b.conf": "\n"}, "60"},
		"sysctl.conf at last": {map[string]string{"/etc/sysctl.conf": "vm.swappiness=1\n", "/etc/sysctl.d/99-z.conf": "vm.swappiness=2\n"}, "1"},
		"a later one":         {map[string]string{"/etc/sysctl.d/zz.conf": "vm.swappiness=1\n", "/etc/sysctl.d/50-a.conf": "vm.swappiness=2\n"}, "1"},
		"not a conf":          {map[string]string{"/etc/sysctl.d/zz.txt": "vm.swappiness=1\n"}, "60"},
		"a pattern":           {map[string]string{"/etc/sysctl.d/a.conf": "vm.swap*=1\n"}, "1"},
		"an exception":        {map[string]string{"/etc/sysctl.d/a.conf": "vm.swap*=1\n", "/etc/sysctl.d/b.conf": "-vm.swappiness\n"}, "60"},
		"another's exception": {map[string]string{"/etc/sysctl.d/a.conf": "vm.swap*=1\n-vm.swap\n"}, "1"},
		"excepted at last":    {map[string]string{"/etc/sysctl.d/a.conf": "vm.swappiness=1\n", "/etc/sysctl.d/b.conf": "-vm.swappiness\n"}, "60"},
		"excepted at first":   {map[string]string{"/etc/sysctl.d/a.conf": "-vm.swappiness\n", "/etc/sysctl.d/b.conf": "vm.swappiness=1\n"}, "1"},
		"a name wins":         {map[string]string{"/etc/sysctl.d/b.conf": "vm.swap*=1\n", "/etc/sysctl.d/a.conf": "vm.swappiness=2\n"}, "2"},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		for file, content := range test.files {
			h.Write(file, content)
		}
		h.configure(map[string]string{"sysctl.conf": "net.core.somaxconn=5\nvm.swappiness=10\n"})
		h.configure(map[string]string{"sysctl.conf": "net.core.somaxconn=5\n"})
		h.expectLive(map[string]string{"vm/swappiness": test.want, "net/core/somaxconn": "5"})
		h.configure(map[string]string{"sysctl.conf": "net.core.somaxconn=6\nvm.swappiness=11\n"})
		h.uninstall()
		h.expectLive(map[string]string{"vm/swappiness": test.want, "net/core/somaxconn": "4096"})
	})
}

// TestSysctlRemembersTheFirstValue: a later run finds what an earlier one set.
func TestSysctlRemembersTheFirstValue(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	for _, value := range []string{"10", "20", "30"} {
		h.configure(map[string]string{"sysctl.conf": "vm.swappiness=" + value})
	}
	h.Write(proc+"vm/swappiness", "99\n")
	h.succeed("config", "config-check")
	h.uninstall()
	h.expectLive(map[string]string{"vm/swappiness": "60"})
}

func TestSysctlCheckSeesTheDropIn(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(everything)
	for _, content := range []string{"vm.swappiness=10\n", ""} {
		h.Write(sysctlDropIn, content)
		h.fail("config-check", sysctlDropIn+" is not what sysctl.conf wants")
	}
	h.succeed("config", "config-check")
	configMap := map[string]string{"ulimit.conf": everything["ulimit.conf"], "service_cron.conf": everything["service_cron.conf"], "grub.conf": everything["grub.conf"]}
	h.configMap(configMap)
	h.fail("config-check", sysctlDropIn+" is left")
}

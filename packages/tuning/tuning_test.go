//go:build integration

package tuning_test

import (
	"maps"
	"strings"
	"testing"
)

const (
	sysctlDropIn = "/etc/sysctl.d/999-demo_web-tuning.conf"
	limitsDropIn = "/etc/security/limits.d/999-demo_web-tuning.conf"
	cronDropIn   = "/etc/systemd/system/cron.service.d/999-demo_web-tuning.conf"
	grubDropIn   = "/etc/default/grub.d/999-demo_web-tuning.cfg"
)

// everything has every key, and everythingElse other values for them.
var (
	everything = map[string]string{
		"sysctl.conf":       "net.core.somaxconn = 1000\nvm.swappiness=10\n",
		"ulimit.conf":       "nofile=65536\n",
		"service_cron.conf": "[Service]\nLimitNOFILE=1000\n",
		"grub.conf":         "hugepages=4\nnosmt\n",
	}
	everythingElse = map[string]string{
		"sysctl.conf":                "vm.swappiness=20\nnet.ipv4.tcp_rmem = 1 2 3\n",
		"ulimit.conf":                "memlock=unlimited\n",
		"service_docker.socket.conf": "[Socket]\nBacklog=5\n",
		"grub.conf":                  "hugepages=8\n",
	}
)

// watched is what an uninstall must leave as it was before.
var watched = []string{"/etc", "/proc", "/boot"}

func eachHost(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	for name, newHost := range map[string]func(testing.TB) *host{"debian": newDebian, "rhel": newRHEL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newHost(t))
		})
	}
}

func TestUninstallLeavesTheHostAsItWas(t *testing.T) {
	t.Parallel()
	eachHost(t, func(t *testing.T, h *host) {
		before := h.Snapshot(watched...)
		h.configure(everything)
		h.configure(everythingElse)
		h.uninstall()
		h.ExpectSnapshot(before, watched...)
		if h.Has(skyhookDir + "/tuning") {
			t.Error("the state is left")
		}
	})
}

func TestAnEmptyConfigMapUndoesEverything(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_ *testing.T, h *host) {
		before := h.Snapshot(watched...)
		h.configure(everything)
		h.configure(nil)
		h.ExpectSnapshot(before, watched...)
		h.succeed("post-interrupt-check")
	})
}

func TestNothingIsDoneTwice(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_ *testing.T, h *host) {
		h.configure(everything)
		h.calls()
		before := h.Snapshot("/etc", "/proc", "/boot", "/var/lib/skyhook")
		h.succeed("config", "config-check")
		h.ExpectSnapshot(before, "/etc", "/proc", "/boot", "/var/lib/skyhook")
		h.expectCalls()
	})
}

func TestUninstallOfWhatWasNeverInstalled(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_ *testing.T, h *host) {
		before := h.Snapshot(watched...)
		h.uninstall()
		h.uninstall()
		h.ExpectSnapshot(before, watched...)
		h.expectCalls()
	})
}

// TestUninstallIgnoresTheConfigMap: else a mistake in it would keep the
// package on the host.
func TestUninstallIgnoresTheConfigMap(t *testing.T) {
	t.Parallel()
	broken := map[string]string{
		"sysctl.conf": "no.such.key=1\nnonsense\n", "ulimit.conf": "x\n", "service_none.conf": "x\n", "grub.conf": "a'b\n", "other": "",
	}
	eachHost(t, func(_ *testing.T, h *host) {
		before := h.Snapshot(watched...)
		h.configure(everything)
		h.configMap(broken)
		h.uninstall()
		h.ExpectSnapshot(before, watched...)
	})
}

func TestUninstallCheckNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(everything)
	r := h.run("uninstall-check")
	for _, left := range []string{
		sysctlDropIn + " is left", limitsDropIn + " is left", cronDropIn + " is left", grubDropIn + " is left",
		"/etc/pam.d/common-session still has the line", "/etc/pam.d/common-session-noninteractive still has the line",
		stateDir + " is left",
	} {
		if r.Code != 1 || !strings.Contains(r.Stderr, left) {
			t.Errorf("exited %d without %q:\n%s", r.Code, left, r.Stderr)
		}
	}
}

func TestMistakesChangeNothing(t *testing.T) {
	t.Parallel()
	known := "known keys: sysctl.conf, ulimit.conf, service_<unit>.conf, grub.conf"
	tests := map[string]struct{ key, content, reason string }{
		"unknown key":    {"sysctls.conf", "", `unknown configMap key "sysctls.conf"; ` + known},
		"no unit":        {"service_.conf", "", `unknown configMap key "service_.conf"; ` + known},
		"another case":   {"Sysctl.conf", "", `unknown configMap key "Sysctl.conf"; ` + known},
		"sysctl line":    {"sysctl.conf", "vm.swappiness=1\nvm.swappiness\n", `sysctl.conf line 2: "vm.swappiness" is not of the form key = value`},
		"sysctl key":     {"sysctl.conf", "\nvm.none=1\n", "sysctl.conf line 2: this host has no key vm.none"},
		"sysctl folder":  {"sysctl.conf", "net.core=1\n", "sysctl.conf line 1: this host has no key net.core"},
		"sysctl escape":  {"sysctl.conf", "../etc/passwd=1\n", `sysctl.conf line 1: "../etc/passwd=1" is not of the form key = value`},
		"sysctl pattern": {"sysctl.conf", "vm.x*=1", "sysctl.conf line 1: this host has no key vm.x*"},
		"ulimit name":    {"ulimit.conf", "files=1\n", `ulimit.conf line 1: unknown limit "files"; known limits: as, core, cpu, data, fsize, locks, memlock, msgqueue, nice, nofile, nproc, rss, rtprio, sigpending, stack`},
		"ulimit form":    {"ulimit.conf", "nofile 100\n", `ulimit.conf line 1: "nofile 100" is not of the form name=value`},
		"ulimit value":   {"ulimit.conf", "stack=8M\n", `ulimit.conf line 1: stack cannot be "8M"; give a number, or unlimited`},
		"ulimit minus":   {"ulimit.conf", "stack=-2\n", `ulimit.conf line 1: stack cannot be "-2"; give a number, or unlimited`},
		"ulimit huge":    {"ulimit.conf", "stack=9999999999999999999\n", `ulimit.conf line 1: stack cannot be "9999999999999999999"; give a number, or unlimited`},
		"ulimit nice":    {"ulimit.conf", "nice=20\n", `ulimit.conf line 1: nice cannot be "20"; give a number from -20 to 19`},
		"ulimit nofile":  {"ulimit.conf", "# much\nnofile=1048577\n", "ulimit.conf line 2: nofile cannot be 1048577: nobody could log in with more than fs.nr_open, which is 1048576; raise that in sysctl.conf"},
		"unit section":   {"service_cron.conf", "# a\nNice=1\n", `service_cron.conf line 2: "Nice=1" is in no section; begin with one, such as [Service]`},
		"unit line":      {"service_cron.conf", "[Service]\nNice: 1\n", `service_cron.conf line 2: "Nice: 1" is neither a [section] nor a setting`},
		"unit name":      {"service_a b.conf", "", `service_a b.conf: "a b.service" cannot be the name of a unit`},
		// What is behind it would get nowhere.
		"unit with NUL": {"service_cron.conf", "[Service]\nNice=5\n\x00[Service]\nNice=6\n", "service_cron.conf has a NUL character, which no text has; save it as plain text"},
		"grub quote":    {"grub.conf", "nosmt\na=\"b\n", `grub.conf line 2: "a="b" has a quote without its end`},
		"grub blank":    {"grub.conf", "hugepages = 4\n", `grub.conf line 1: "hugepages = 4" has blanks around =, or no name before it`},
		"grub backtick": {"grub.conf", "a=`b`\n", "grub.conf line 1: \"a=`b`\" has characters that no kernel argument needs; write it as it shall be in /proc/cmdline"},
	}
	h := newDebian(t)
	h.configure(everything)
	h.calls()
	before := h.Snapshot("/etc", "/proc", "/boot", stateDir)
	for name, test := range tests {
		configMap := maps.Clone(everythingElse)
		configMap[test.key] = test.content
		h.configMap(configMap)
		h.fail("config", test.reason)
		h.ExpectSnapshot(before, "/etc", "/proc", "/boot", stateDir)
		h.expectCalls()
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestWindowsLineEnds are left out, as sysctl and systemd do, too.
func TestWindowsLineEnds(t *testing.T) {
	t.Parallel()
	h, unix := newDebian(t), newDebian(t)
	for key := range everything {
		unix.configure(everything)
		configMap := maps.Clone(everything)
		configMap[key] = strings.ReplaceAll(strings.TrimSuffix(everything[key], "\n"), "\n", "\r\n") + "\r"
		h.configMap(configMap)
		if said := h.succeed("config"); said != "tuning: "+key+" has Windows line ends, which are left out; save it with Unix ones\n" {
			t.Errorf("%s: said %q", key, said)
		}
		h.succeed("config-check")
		want := unix.Snapshot(watched...)
		for name, text := range want {
			want[name] = strings.TrimSuffix(text, "\n")
		}
		got := h.Snapshot(watched...)
		for name, text := range got {
			if strings.TrimSuffix(text, "\n") != want[name] {
				t.Errorf("%s: %s: got %q, want %q", key, name, text, want[name])
			}
		}
	}
}

func TestKeysOfPackagesMadeFromThisOne(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"accelerator": "h100", "sysctl.conf": "vm.swappiness=1\n"})
	if said := h.succeed("config"); !strings.Contains(said, `the configMap key "accelerator" does nothing; known keys: sysctl.conf`) {
		t.Errorf("said %q", said)
	}
	h.succeed("config-check")
}

func TestEveryMistakeIsNamed(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"a.conf": "", "sysctl.conf": "x\nno.such=1", "ulimit.conf": "y", "service_cron.conf": "z", "grub.conf": "z'"})
	for _, mode := range []string{"config", "config-check", "post-interrupt-check"} {
		if r := h.run(mode); r.Code != 1 || strings.Count(r.Stderr, "\n") != 6 {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	modes := "config, config-check, post-interrupt-check, uninstall, uninstall-check"
	h := newDebian(t)
	h.fail("apply", `unknown mode "apply"; known modes: `+modes)
	delete(h.Env, "SKYHOOK_DIR")
	h.fail("config", "SKYHOOK_DIR is not set; the agent sets it")
}

func TestMissingTools(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.tool("rm", "/usr/bin/awk")
	h.configMap(everything)
	h.fail("config", "awk is missing on this host")
}

// TestFilesAreOnTheDisk before they take the place of others: a host that loses
// power must not have an empty PAM service.
func TestFilesAreOnTheDisk(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.replace("sync", `echo "sync $*" >>/run/calls; [[ ! -e /run/full ]] || exit 1; exec /usr/bin/real-sync "$@"`)
	h.replace("mv", `echo "mv $*" >>/run/calls; exec /usr/bin/real-mv "$@"`)
	h.configure(everything)
	h.uninstall()
	calls, moves := h.calls(), 0
	for i, call := range calls {
		if file, is := strings.CutPrefix(call, "mv -f -- "); is {
			moves++
			file, _, _ = strings.Cut(file, " ")
			if i == 0 || calls[i-1] != "sync -- "+file+" "+stateDir {
				t.Errorf("%s after %s", call, calls[i-1])
			}
		}
	}
	if moves < 10 {
		t.Errorf("%d files", moves)
	}
	h.Write("/run/full", "")
	session := h.Read(pamSession)
	h.configMap(map[string]string{"ulimit.conf": "nofile=5\n"})
	h.fail("config", "cannot write "+stateDir+"/folders")
	h.expect(pamSession, session)
}

func TestTracing(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Env["SET_X"] = "1"
	h.configMap(everything)
	if r := h.run("config"); r.Code != 0 || !strings.Contains(r.Stderr, "+ case") {
		t.Errorf("got %d %.200s", r.Code, r.Stderr)
	}
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"demo-uid-1_web_1.3.0":     "999-demo_web-tuning.conf",
		"demo-uid-1_my-net2_1.3.0": "999-demo_my-net2-tuning.conf",
		"":                         "999-demo_tuning-tuning.conf",
		"demo":                     "999-demo_tuning-tuning.conf",
		"a_b_c_d":                  "999-demo_tuning-tuning.conf",
		"demo_../x_1.3.0":          "999-demo_tuning-tuning.conf",
	}
	for id, want := range tests {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			h.Env["SKYHOOK_RESOURCE_ID"] = id
			h.configure(map[string]string{"sysctl.conf": everything["sysctl.conf"]})
			h.expect("/etc/sysctl.d/"+want, everything["sysctl.conf"])
			h.uninstall()
			h.expect("/etc/sysctl.d/"+want, "")
		})
	}
}

//go:build integration

package tuning_test

import (
	"maps"
	"strings"
	"testing"
)

// earlier is what version 1.1 of the package leaves on a host, for these keys.
var (
	earlierKeys = map[string]string{
		"sysctl.conf":         "vm.swappiness=10\n",
		"ulimit.conf":         "nofile=65536\n",
		"service_cron.conf":   "[Service]\nNice=5\n",
		"service_my_svc.conf": "[Service]\nNice=6\n",
		"grub.conf":           "hugepages=4\nnosmt\n",
	}
	earlierFiles = map[string]string{
		named(sysctlDropIn): "vm.swappiness=10\n",
		named(limitsDropIn): "* hard nofile 65536\n",
		named(cronDropIn):   "[Service]\nNice=5\n",
		"/etc/systemd/system/my.service.d/999-web-tuning.conf": "[Service]\nNice=6\n", // it cuts names
		named(grubDropIn): "GRUB_CMDLINE_LINUX_DEFAULT=\" hugepages=4 nosmt\"\n",
	}
)

// named is the name that a file of this package had up to version 1.2.
func named(file string) string { return strings.Replace(file, "999-demo_", "999-", 1) }

// tunedBefore is a host that version 1.1 has tuned.
func tunedBefore(t *testing.T) *host {
	t.Helper()
	h := newDebian(t)
	for name, content := range earlierFiles {
		h.Write(name, content)
	}
	h.Write(proc+"vm/swappiness", "10\n")
	for _, name := range []string{pamSession, pamNonInter} {
		h.Write(name, strings.TrimSuffix(h.Read(name), "\n")+"\nsession required pam_limits.so\n")
	}
	h.tool("update-grub")
	h.tool("systemctl", "daemon-reload")
	h.calls()
	return h
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	h := tunedBefore(t)
	before := h.Snapshot("/etc/pam.d", "/proc")
	h.configure(earlierKeys)
	h.ExpectSnapshot(before, "/etc/pam.d", "/proc")
	h.expect(sysctlDropIn, earlierKeys["sysctl.conf"])
	h.expect(cronDropIn, earlierKeys["service_cron.conf"])
	for name := range earlierFiles {
		h.expect(name, "")
	}
	h.expect(limitsDropIn, header+"* - nofile 65536\nroot - nofile 65536\n")
	h.expect("/etc/systemd/system/my_svc.service.d/999-demo_web-tuning.conf", "[Service]\nNice=6\n")
	if h.Has("/etc/systemd/system/my.service.d") {
		t.Error("the drop-in of the unit with the cut name is left")
	}
	h.expect(grubDropIn, grubText("hugepages=4 nosmt"))
	if !strings.Contains(h.Read(grubConfig), "quiet console=ttyS0 cloud=1 hugepages=4") {
		t.Errorf("the host's own arguments are not back: %s", h.Read(grubConfig))
	}
	h.expectCalls("systemctl daemon-reload", "update-grub")
}

// TestTakeOverWithLess: keys that are gone since then are undone, as far as it
// is known what was there before.
func TestTakeOverWithLess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file   string
		live   string
		stdout string
	}{
		"unknown before":  {"", "10", "tuning: the value that vm.swappiness had before is not known; it stays until the next boot\n"},
		"known elsewhere": {"vm.swappiness=33\n", "33", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := tunedBefore(t)
			h.Write("/etc/sysctl.d/50-a.conf", test.file)
			h.configMap(nil)
			if r := h.run("config"); r.Code != 0 || r.Stdout != test.stdout || r.Stderr != "" {
				t.Fatalf("%+v", r)
			}
			h.succeed("config-check")
			h.expectLive(map[string]string{"vm/swappiness": test.live})
			for name := range earlierFiles {
				h.expect(name, "")
			}
			if h.Has("/etc/systemd/system/cron.service.d") || h.Has("/etc/systemd/system/my.service.d") {
				t.Error("a folder is left")
			}
			h.expectCalls("systemctl daemon-reload", "update-grub")
		})
	}
}

// TestUninstallOfAnEarlierVersion: without a state of its own.
func TestUninstallOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for _, configMap := range []map[string]string{earlierKeys, nil} {
		h := tunedBefore(t)
		h.configMap(configMap)
		h.uninstall()
		for name := range earlierFiles {
			h.expect(name, "")
		}
		h.expectCalls("systemctl daemon-reload", "update-grub")
	}
}

// second has the same host run another package of this kind.
func (h *host) second() *host {
	same, other := *h.Host, *h
	other.Host = &same
	other.Env = maps.Clone(h.Env)
	other.Env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_db_1.3.0"
	other.Env["SKYHOOK_DIR"] = skyhookDir + "/db-1.3.0"
	return &other
}

// TestTwoPackages tune one host, partly alike, and are removed in both orders.
func TestTwoPackages(t *testing.T) {
	t.Parallel()
	webKeys := maps.Clone(everything)
	dbKeys := map[string]string{
		"sysctl.conf":       "vm.swappiness=30\nnet.ipv4.tcp_rmem=1 2 3\n",
		"ulimit.conf":       "nproc=5\n",
		"service_cron.conf": "[Service]\nNice=5\n",
		"grub.conf":         "nosmt\na=1\n",
	}
	swappiness := func(value string) map[string]string { return map[string]string{"vm/swappiness": value} }
	eachHost(t, func(_ *testing.T, web *host) {
		db := web.second()
		pristine := web.Snapshot(watched...)
		web.configure(webKeys)
		onlyWeb := web.Snapshot(watched...)
		db.configure(dbKeys)
		web.expectLive(swappiness("30"))
		db.uninstall()
		web.ExpectSnapshot(onlyWeb, watched...)
		web.succeed("config-check")

		db.configure(dbKeys)
		web.uninstall()
		web.expectLive(swappiness("30"))
		db.succeed("config-check")
		db.uninstall()
		web.ExpectSnapshot(pristine, watched...)
	})
}

// TestTwoPackagesAtATime: the operator runs packages side by side unless it is
// told not to.
func TestTwoPackagesAtATime(t *testing.T) {
	t.Parallel()
	web := newDebian(t)
	db := web.second()
	pristine := web.Snapshot(watched...)
	web.configMap(everything)
	db.configMap(map[string]string{
		"sysctl.conf": "vm.swappiness=10\n", "ulimit.conf": "nproc=5\n", "service_cron.conf": "[Service]\nNice=5\n", "grub.conf": "a=1\n",
	})
	for range 3 {
		for _, mode := range []string{"config", "config-check", "uninstall"} {
			done := make(chan result)
			go func() { done <- db.run(mode) }()
			if r := web.run(mode); r.Code != 0 || r.Stderr != "" {
				t.Errorf("%s: %+v", mode, r)
			}
			if r := <-done; r.Code != 0 || r.Stderr != "" {
				t.Errorf("%s: %+v", mode, r)
			}
		}
		web.ExpectSnapshot(pristine, watched...)
	}
}

// TestTwoSkyhooks: what the other one found is looked for there, too.
func TestTwoSkyhooks(t *testing.T) {
	t.Parallel()
	web := newDebian(t)
	db := web.second()
	db.Env["SKYHOOK_ROOT_DIR"] = "/var/lib/skyhook/other"
	db.Env["SKYHOOK_DIR"] = "/var/lib/skyhook/other/db-1.3.0"
	web.configure(map[string]string{"sysctl.conf": "vm.swappiness=10\n"})
	db.configure(map[string]string{"sysctl.conf": "vm.swappiness=20\n"})
	web.uninstall()
	web.expectLive(map[string]string{"vm/swappiness": "20"})
	db.uninstall()
	web.expectLive(map[string]string{"vm/swappiness": "60"})
}

func TestStateWithoutSkyhookRootDir(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	delete(h.Env, "SKYHOOK_ROOT_DIR")
	h.configure(everything)
	if !h.Has("/var/lib/skyhook/tuning/web/sysctl") {
		t.Error("no state")
	}
	h.uninstall()
	if h.Has("/var/lib/skyhook/tuning") {
		t.Error("the state is left")
	}
}

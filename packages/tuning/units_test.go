//go:build integration

package tuning_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	const drop = "[Service]\nLimitNOFILE=5\n"
	type row struct{ key, folder, content string }
	tests := map[string]row{
		"service":         {"service_cron.conf", "cron.service.d", drop},
		"with its type":   {"service_cron.service.conf", "cron.service.d", drop},
		"underscore":      {"service_my_svc.conf", "my_svc.service.d", drop},
		"instance":        {"service_a.b@c.conf", "a.b@c.service.d", drop},
		"template":        {"service_a.b@.conf", "a.b@.service.d", drop},
		"socket":          {"service_docker.socket.conf", "docker.socket.d", "[Socket]\nBacklog=5\n"},
		"no newline":      {"service_cron.conf", "cron.service.d", "[Service]\nNice=5"},
		"comments":        {"service_cron.conf", "cron.service.d", "# a\n\n ; b\n[Service]\n Nice = 5\nExecStart=\n"},
		"continued":       {"service_cron.conf", "cron.service.d", "[Service]\nExecStart=/bin/a \\\n# why\n  --b \\\n  c\nNice=5\n"},
		"several parts":   {"service_cron.conf", "cron.service.d", "[Unit]\nAfter=a\n[Service]\nNice=5\n"},
		"only a comment":  {"service_cron.conf", "cron.service.d", "# nothing\n"},
		"no type of unit": {"service_a.conf.conf", "a.conf.service.d", drop},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.Write("/run/units/a.conf.service/ActiveState", "inactive\n")
		before := h.Snapshot("/etc")
		h.configure(map[string]string{test.key: test.content})
		h.expect("/etc/systemd/system/"+test.folder+"/999-demo_web-tuning.conf", test.content)
		h.expectCalls("systemctl daemon-reload")
		h.succeed("post-interrupt-check")
		h.uninstall()
		h.expectCalls("systemctl daemon-reload")
		h.ExpectSnapshot(before, "/etc")
	})
}

// TestUnitThatTheHostDoesNotHave: its drop-in waits for it, and is in use once
// it is there.
func TestUnitThatTheHostDoesNotHave(t *testing.T) {
	t.Parallel()
	for key, folder := range map[string]string{"service_none.conf": "none.service.d", "service_none@.conf": "none@.service.d"} {
		h := newDebian(t)
		before := h.Snapshot("/etc")
		h.configMap(map[string]string{key: "[Service]\nNice=5\n"})
		said := h.succeed("config")
		if !strings.Contains(said, key+": this host has no unit none") || !strings.Contains(said, "the drop-in waits for it") {
			t.Errorf("%s: %s", key, said)
		}
		h.expect("/etc/systemd/system/"+folder+"/999-demo_web-tuning.conf", "[Service]\nNice=5\n")
		h.succeed("config-check")
		h.succeed("post-interrupt-check")
		h.uninstall()
		h.ExpectSnapshot(before, "/etc")
	}
}

// TestUnitFolders that were there before stay, with or without other files.
func TestUnitFolders(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"", "10-host.conf"} {
		h := newDebian(t)
		h.Must(os.MkdirAll(h.Path("/etc/systemd/system/cron.service.d"), 0o755))
		if other != "" {
			h.Write("/etc/systemd/system/cron.service.d/"+other, "[Service]\nNice=1\n")
			h.tool("systemctl", "daemon-reload")
		}
		before := h.Snapshot("/etc")
		h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=5\n"})
		h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=6\n"})
		h.uninstall()
		h.ExpectSnapshot(before, "/etc")
	}
}

func TestOneReloadForAllUnits(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=5\n", "service_my_svc.conf": "[Service]\nNice=5\n"})
	h.expectCalls("systemctl daemon-reload")
	h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=6\n", "service_docker.socket.conf": "[Socket]\nBacklog=5\n"})
	h.expectCalls("systemctl daemon-reload")
}

func TestTwoKeysOfOneUnit(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"service_cron.conf": "", "service_cron.service.conf": ""})
	h.fail("config", "service_cron.service.conf and service_cron.conf are both for cron.service; join them")
}

func TestUnitsCheck(t *testing.T) {
	t.Parallel()
	type row struct {
		property, value, reason string
	}
	tests := map[string]row{
		"cannot be loaded": {"LoadState", "bad-setting", "service_cron.conf: systemd cannot load cron.service (bad-setting); see systemctl status cron.service"},
		"not reloaded":     {"NeedDaemonReload", "yes", "cron.service has changed on disk since systemd read it; run systemctl daemon-reload"},
		"not used":         {"DropInPaths", "/etc/systemd/system/cron.service.d/10-host.conf", "systemd does not use " + cronDropIn + " for cron.service"},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=5\n"})
		h.Write("/run/units/cron.service/"+test.property, test.value+"\n")
		h.fail("config-check", test.reason)
	})
	t.Run("another content", func(t *testing.T) {
		t.Parallel()
		h := newDebian(t)
		h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=5\n"})
		h.Write(cronDropIn, "[Service]\nNice=6\n")
		h.fail("config-check", cronDropIn+" is not what service_cron.conf wants")
		h.configMap(nil)
		h.fail("config-check", cronDropIn+" is left, though the configMap has no key for cron.service")
	})
}

// TestSystemdThatHasNotReadTheDropIn is told to, whoever changed what.
func TestSystemdThatHasNotReadTheDropIn(t *testing.T) {
	t.Parallel()
	type row struct {
		change func(h *host)
		reason string
	}
	tests := map[string]row{
		"another file": {
			func(h *host) { h.Write("/etc/systemd/system/cron.service.d/10-host.conf", "[Service]\nNice=1\n") },
			"cron.service has changed on disk since systemd read it; run systemctl daemon-reload",
		},
		"not seen": {
			func(h *host) {
				h.Write("/run/units/cron.service/NeedDaemonReload", "no\n")
				h.tool("rm", "-r", "/run/loaded/cron.service.d")
			},
			"systemd does not use " + cronDropIn + " for cron.service",
		},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		configMap := map[string]string{"service_cron.conf": "[Service]\nNice=5\n", "service_none.conf": "[Service]\nNice=5\n", "service_a.b@.conf": ""}
		h.configure(configMap)
		test.change(h)
		h.fail("config-check", test.reason)
		h.calls()
		h.configure(configMap)
		h.expectCalls("systemctl daemon-reload")
		h.configure(configMap)
		h.expectCalls()
	})
}

func TestMaskedUnit(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write("/run/units/cron.service/LoadState", "masked\n")
	h.Write("/run/units/cron.service/DropInPaths", "\n")
	for range 2 {
		h.configure(map[string]string{"service_cron.conf": "[Service]\nNice=5\n"})
	}
	h.expectCalls("systemctl daemon-reload")
}

// limitsOf is /proc/<pid>/limits as the kernel writes it.
func limitsOf(limits map[string]string) string {
	var text strings.Builder
	text.WriteString("Limit                     Soft Limit           Hard Limit           Units     \n")
	for name, pair := range limits {
		soft, hard, _ := strings.Cut(pair, ":")
		fmt.Fprintf(&text, "%-26s%-21s%-21s%s\n", name, soft, hard, "units")
	}
	return text.String()
}

// TestRunningLimits compares a limit with that of the running process.
func TestRunningLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		setting, name, actual string
		good                  bool
	}{
		{"LimitNOFILE=1000", "Max open files", "1000:1000", true},
		{"LimitNOFILE=1000", "Max open files", "1024:524288", false},
		{"LimitNOFILE=1000:2000", "Max open files", "1000:2000", true},
		{"LimitNOFILE=1000:2000", "Max open files", "2000:2000", true}, // it raised its own
		{"LimitNOFILE=1000:2000", "Max open files", "999:2000", false},
		{"LimitNOFILE=1000:2000", "Max open files", "1000:2001", false},
		{"LimitNOFILE=64K", "Max open files", "65536:65536", true},
		{"LimitNOFILE=infinity", "Max open files", "1048576:1048576", true}, // all the kernel allows
		{"LimitNOFILE=infinity", "Max open files", "1024:4096", false},
		{"LimitNOFILE=5\nLimitNOFILE=6", "Max open files", "6:6", true},
		{"LimitNOFILE=5\nLimitNOFILE=6", "Max open files", "5:5", false},
		{"LimitNOFILE=5\nLimitNOFILE=", "Max open files", "1024:4096", true},
		{"LimitMEMLOCK=8M", "Max locked memory", "8388608:8388608", true},
		{"LimitMEMLOCK=8M", "Max locked memory", "65536:65536", false},
		{"LimitMEMLOCK=infinity", "Max locked memory", "unlimited:unlimited", true},
		{"LimitMEMLOCK=infinity", "Max locked memory", "8388608:unlimited", false},
		{"LimitMEMLOCK=1G:infinity", "Max locked memory", "1073741824:unlimited", true},
		{"LimitSTACK=8M", "Max stack size", "8388608:8388608", true},
		{"LimitSTACK=8M", "Max stack size", "8192:8192", false},
		{"LimitFSIZE=1T", "Max file size", "1099511627776:1099511627776", true},
		{"LimitNPROC = 5", "Max processes", "5:5", true},
		{"LimitNPROC=5", "Max processes", "6:6", false},
		{"LimitCORE=0", "Max core file size", "0:0", true},
		{"LimitAS=infinity", "Max address space", "unlimited:unlimited", true},
		{"LimitCPU=90", "Max cpu time", "90:90", true},
		{"LimitCPU=1min 30s", "Max cpu time", "90:90", true},
		{"LimitCPU=1500ms:1h", "Max cpu time", "2:3600", true},
		{"LimitCPU=1min", "Max cpu time", "1:1", false},
		{"LimitRTTIME=5ms", "Max realtime timeout", "5000:5000", true},
		{"LimitRTTIME=5", "Max realtime timeout", "5000:5000", false},
		{"LimitNICE=-5", "Max nice priority", "25:25", true},
		{"LimitNICE=+5", "Max nice priority", "15:15", true},
		{"LimitNICE=30", "Max nice priority", "30:30", true},
		{"LimitNICE=-5", "Max nice priority", "0:0", false},
		{"LimitRTPRIO=10", "Max realtime priority", "10:10", true},
		{"LimitSIGPENDING=9", "Max pending signals", "8:8", false},
		{"LimitMSGQUEUE=1K", "Max msgqueue size", "1024:1024", true},
		{"LimitNOFILE=about 5", "Max open files", "1:1", true}, // systemd has read it, or said no
	}
	h := newDebian(t)
	h.Write("/run/units/cron.service/ActiveState", "active\n")
	h.Write("/run/units/cron.service/MainPID", "77\n")
	for _, test := range tests {
		t.Log(test.setting, test.actual)
		h.configMap(map[string]string{"service_cron.conf": "[Service]\n" + test.setting + "\n"})
		h.Write("/proc/77/limits", limitsOf(map[string]string{"Max other": "1:2", test.name: test.actual}))
		if test.good {
			h.succeed("post-interrupt-check")
			continue
		}
		setting := test.setting[strings.LastIndex(test.setting, "\n")+1:]
		name, value, _ := strings.Cut(setting, "=")
		h.fail("post-interrupt-check", "cron.service runs with "+name+"="+test.actual+", not "+value+"; restart it: add it to interrupt.services")
	}
}

// TestLimitOfOpenFilesOfSystemd: of more than the kernel allows it gives what
// itself may have, also where fs.nr_open was changed since.
func TestLimitOfOpenFilesOfSystemd(t *testing.T) {
	t.Parallel()
	type row struct {
		setting, systemd, actual string
		good                     bool
	}
	tests := map[string]row{
		"lowered since":           {"infinity", "1073741816:1073741816", "1073741816:1073741816", true},
		"raised since":            {"infinity", "1024:524288", "524288:524288", true},
		"the soft one is less":    {"1024:infinity", "1024:524288", "1024:524288", true},
		"neither":                 {"infinity", "1024:524288", "1024:4096", false},
		"more than there can be":  {"2000000", "1024:524288", "524288:524288", true},
		"less than there can be":  {"600000", "1024:524288", "524288:524288", false},
		"without systemd's limit": {"infinity", "", "524288:524288", false},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.configure(map[string]string{"service_cron.conf": "[Service]\nLimitNOFILE=" + test.setting + "\n"})
		h.Write("/run/units/cron.service/ActiveState", "active\n")
		h.Write("/run/units/cron.service/MainPID", "77\n")
		h.Write("/proc/77/limits", limitsOf(map[string]string{"Max open files": test.actual}))
		if test.systemd != "" {
			h.Write("/proc/1/limits", limitsOf(map[string]string{"Max open files": test.systemd}))
		}
		if test.good {
			h.succeed("post-interrupt-check")
			return
		}
		h.fail("post-interrupt-check", "cron.service runs with LimitNOFILE="+test.actual+", not "+test.setting+"; restart it: add it to interrupt.services")
	})
}

// expectRestart has the check after an interrupt ask for a restart, or not.
func (h *host) expectRestart(wanted bool) {
	h.T.Helper()
	want := ""
	if wanted {
		want = "tuning: cron.service was not started since service_cron.conf changed; if that has settings of the start, restart it: add it to interrupt.services\n"
	}
	if said := h.succeed("post-interrupt-check"); said != want {
		h.T.Errorf("said %q, want %q", said, want)
	}
}

// TestRestarts: what is no limit may take effect with the next start.
func TestRestarts(t *testing.T) {
	t.Parallel()
	start := func(h *host, moment string) {
		h.Write("/run/units/cron.service/ActiveState", "active\n")
		h.Write("/run/units/cron.service/ActiveEnterTimestampMonotonic", moment+"\n")
	}
	h := newDebian(t)
	start(h, "1000")
	configMap := map[string]string{"service_cron.conf": "[Service]\nNice=5\n"}
	h.configure(configMap)
	h.expectRestart(true)
	h.configure(configMap) // changes nothing
	h.expectRestart(true)
	start(h, "2000")
	h.expectRestart(false)
	h.configure(configMap)
	h.expectRestart(false)

	configMap["service_cron.conf"] = "[Unit]\nAfter=a\n"
	h.configure(configMap)
	h.expectRestart(true)
	h.Write("/proc/sys/kernel/random/boot_id", "boot-2\n")
	h.expectRestart(false)
	h.Write("/proc/sys/kernel/random/boot_id", "boot-1\n")
	for state, reason := range map[string]string{"inactive": "", "activating": "", "failed": "cron.service has failed; see systemctl status cron.service"} {
		h.Write("/run/units/cron.service/ActiveState", state+"\n")
		if reason == "" {
			h.expectRestart(false)
		} else {
			h.fail("post-interrupt-check", reason)
		}
	}
}

// TestLimitsOfAUnitWithoutProcess: one that ran and is done, but counts as
// active.
func TestLimitsOfAUnitWithoutProcess(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write("/run/units/cron.service/ActiveState", "active\n")
	h.Write("/run/units/cron.service/ActiveEnterTimestampMonotonic", "1000\n")
	h.configure(map[string]string{"service_cron.conf": "[Service]\nLimitNOFILE=5\n"})
	h.expectRestart(true)
	h.Write("/run/units/cron.service/ActiveEnterTimestampMonotonic", "2000\n")
	h.expectRestart(false)
}

func TestReloadFails(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.replace("systemctl", `[[ "$1" == daemon-reload ]] && exit 1; exec /usr/bin/real-systemctl "$@"`)
	h.configMap(map[string]string{"service_cron.conf": "[Service]\nNice=5\n"})
	h.fail("config", "systemctl daemon-reload failed")
	h.tool("mv", "/usr/bin/real-systemctl", "/usr/bin/systemctl")
	h.calls()
	h.succeed("config", "config-check")
	h.expectCalls("systemctl daemon-reload")
}

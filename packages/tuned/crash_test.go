package tuned_test

import (
	"strconv"
	"syscall"
	"testing"
)

// crash kills a step with all its children before the n-th of its commands that
// change something: between the others there is nothing to find. It says
// whether the step had so many.
func (h *host) crash(step string, n int) bool {
	h.t.Helper()
	h.write("/fake/crash", `
set -T
skyhook_left=`+strconv.Itoa(n)+`
trap 'case "$BASH_COMMAND" in
  "rm -f \"\${output}\"") ;; # of each command in attempt
  mv\ * | cp\ * | rm\ * | rmdir\ * | mkdir\ * | sed\ -i* | find*-delete | *"> \""*)
    ((--skyhook_left > 0)) || kill -KILL 0
    ;;
esac' DEBUG
`)
	h.env["BASH_ENV"] = "/fake/crash"
	defer delete(h.env, "BASH_ENV")
	cmd := h.command(copyDir+"/skyhook_dir/tuned.sh", step)
	err := cmd.Run()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		h.t.Fatalf("%s at command %d: %v", step, n, err)
	}
	return status.Signaled()
}

// stride is how many changes lie between two crashes: with every one of them
// these tests would take a minute.
const stride = 4

// crashEverywhere crashes a step of a host in many places. After each, these
// steps must succeed, and leave the host as it was.
func (h *host) crashEverywhere(before map[string]string, step string, then ...string) {
	h.t.Helper()
	crashed := 0
	for n := 1; ; n += stride {
		c := h.clone()
		if !c.crash(step, n) {
			break
		}
		crashed++
		c.succeed(then...)
		c.expectEtc(before)
		if h.t.Failed() {
			h.t.Fatalf("after a crash at command %d", n)
		}
	}
	if crashed == 0 {
		h.t.Error("no crash")
	}
}

func TestCrashOfInstall(t *testing.T) {
	for name, then := range map[string][]string{
		"and again":     {"install", "install-check", "config", "uninstall", "uninstall-check"},
		"and uninstall": {"uninstall", "uninstall-check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, debian)
			before := h.etc()
			h.configMap(everything)
			h.crashEverywhere(before, "install", then...)
		})
	}
}

func TestCrashOfInstallWhereTunedWas(t *testing.T) {
	t.Parallel()
	h := newHost(t, debian)
	h.admin("apt-get install tuned; systemctl stop tuned.service; systemctl disable tuned.service")
	h.crashEverywhere(h.etc(), "install", "install", "uninstall", "uninstall-check")
}

// TestCrashOfConfig crashes where files change, come, go and are given back.
func TestCrashOfConfig(t *testing.T) {
	for name, then := range map[string][]string{
		"and again":     {"config", "config-check", "uninstall", "uninstall-check"},
		"and uninstall": {"uninstall", "uninstall-check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, debian)
			h.admin("apt-get install tuned; tuned-adm profile plain; mkdir -p /etc/tuned/web; echo a >/etc/tuned/web/tuned.conf")
			before := h.etc()
			h.configMap(everything)
			h.succeed("install", "config")
			h.configMap(map[string]string{"db": web, "y_script": script, "boot": "[main]\n", "tuned_profile": "db"})
			h.crashEverywhere(before, "config", then...)
		})
	}
}

func TestCrashOfUninstall(t *testing.T) {
	for name, prepare := range map[string]string{
		"of a tuned of ours":   "true",
		"of a tuned of others": "apt-get install tuned; systemctl disable tuned.service; mkdir -p /etc/tuned/web; echo a >/etc/tuned/web/tuned.conf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, debian)
			h.admin(prepare)
			before := h.etc()
			h.configMap(everything)
			h.succeed("install", "config")
			h.crashEverywhere(before, "uninstall", "uninstall", "uninstall-check")
		})
	}
}

func TestCrashOfUninstallCheck(t *testing.T) {
	t.Parallel()
	h := newHost(t, debian)
	before := h.etc()
	h.configMap(everything)
	h.succeed("install", "config", "uninstall")
	h.crashEverywhere(before, "uninstall-check", "uninstall-check", "uninstall", "uninstall-check")
}

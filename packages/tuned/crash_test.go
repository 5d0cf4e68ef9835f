//go:build integration

package tuned_test

import (
	"strconv"
	"syscall"
	"testing"
)

// crash kills a step with all its children before the n-th of its commands that
// change something: between the others, and those on files that nobody looks
// at, there is nothing to find. It says whether the step had so many.
func (h *host) crash(step string, n int) bool {
	h.T.Helper()
	h.Write("/fake/crash", `
set -T
skyhook_left=`+strconv.Itoa(n)+`
trap 'case "$BASH_COMMAND" in
  "rm -f \"\${output}\"" | "rm -rf \"\${STATE}/.dropped\"" | "cat > \"\${temporary}\"" | "mkdir -p \"\${STATE}\"") ;;
  mv\ * | cp\ * | rm\ * | rmdir\ * | mkdir\ * | sed\ -i* | find*-delete | *"> \""*)
    ((--skyhook_left > 0)) || kill -KILL 0
    ;;
esac' DEBUG
`)
	h.Env["BASH_ENV"] = "/fake/crash"
	defer delete(h.Env, "BASH_ENV")
	cmd := h.Command(copyDir+"/skyhook_dir/tuned.sh", step)
	err := cmd.Run()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		h.T.Fatalf("%s at command %d: %v", step, n, err)
	}
	return status.Signaled()
}

// crashEverywhere crashes a step of a host in many places. After each, these
// steps must succeed, and leave the host as it was. Where a step is crashed in
// two situations, one begins with the first change, the other with the second.
func (h *host) crashEverywhere(first int, before map[string]string, step string, then ...string) {
	h.T.Helper()
	crashed := 0
	for n := first; ; n += stride {
		c := h.clone()
		if !c.crash(step, n) {
			break
		}
		crashed++
		c.succeed(then...)
		c.ExpectSnapshot(before, watched...)
		if h.T.Failed() {
			h.T.Fatalf("after a crash at command %d", n)
		}
	}
	if crashed == 0 {
		h.T.Error("no crash")
	}
}

// crashing is one situation: where the crashes begin, and what comes after each.
type crashing struct {
	first int
	then  []string
}

func TestCrashOfInstall(t *testing.T) {
	for name, test := range map[string]crashing{
		"and again":     {1, []string{"install", "install-check", "config", "uninstall", "uninstall-check"}},
		"and uninstall": {2, []string{"uninstall", "uninstall-check"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.crashEverywhere(test.first, before, "install", test.then...)
		})
	}
}

func TestCrashOfInstallWhereTunedWas(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.admin("apt-get install tuned; systemctl stop tuned.service; systemctl disable tuned.service")
	h.crashEverywhere(1, h.Snapshot(watched...), "install", "install", "uninstall", "uninstall-check")
}

// TestCrashOfConfig crashes where files change, come, go and are given back.
func TestCrashOfConfig(t *testing.T) {
	for name, test := range map[string]crashing{
		"and again":     {1, []string{"config", "config-check", "uninstall", "uninstall-check"}},
		"and uninstall": {2, []string{"uninstall", "uninstall-check"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			h.admin("apt-get install tuned; tuned-adm profile plain; mkdir -p /etc/tuned/web; echo a >/etc/tuned/web/tuned.conf")
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.succeed("install", "config")
			h.configMap(map[string]string{"db": web, "y_script": script, "boot": "[main]\n", "tuned_profile": "db"})
			h.crashEverywhere(test.first, before, "config", test.then...)
		})
	}
}

func TestCrashOfUninstall(t *testing.T) {
	for name, test := range map[string]struct {
		first   int
		prepare string
	}{
		"of a tuned of ours":   {2, "true"},
		"of a tuned of others": {1, "apt-get install tuned; systemctl disable tuned.service; mkdir -p /etc/tuned/web; echo a >/etc/tuned/web/tuned.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			h.admin(test.prepare)
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.succeed("install", "config")
			h.crashEverywhere(test.first, before, "uninstall", "uninstall", "uninstall-check")
		})
	}
}

func TestCrashOfUninstallCheck(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.configMap(everything)
	h.succeed("install", "config", "uninstall")
	h.crashEverywhere(1, before, "uninstall-check", "uninstall-check", "uninstall", "uninstall-check")
}

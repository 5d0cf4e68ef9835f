package tuned_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
)

// crash kills a step with all its children at its n-th command. It says
// whether the step had so many.
func (h *host) crash(step string, n int) bool {
	h.t.Helper()
	h.write("/fake/crash", `
set -T
skyhook_left=`+strconv.Itoa(n)+`
trap '((--skyhook_left > 0)) || kill -KILL 0' DEBUG
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

// stride is how many commands lie between two crashes: with all of them these
// tests would take minutes. It shares no factor with the length of a loop.
const stride = 13

// crashEverywhere begins a host for every place to crash at, and wants what
// "then" wants after the step has crashed there.
func crashEverywhere(t *testing.T, step string, begin func(*testing.T) *host, then func(*host)) {
	t.Helper()
	crashed := 0
	for n := 1; ; n += stride {
		h := begin(t)
		if !h.crash(step, n) {
			break
		}
		crashed++
		h.t = t
		then(h)
		if t.Failed() {
			t.Fatal(fmt.Sprintf("after a crash at command %d", n))
		}
	}
	if crashed < 4 {
		t.Errorf("only %d crashes", crashed)
	}
}

func TestCrashOfInstall(t *testing.T) {
	for name, then := range map[string][]string{
		"and again":     {"install", "install-check", "config", "uninstall", "uninstall-check"},
		"and uninstall": {"uninstall", "uninstall-check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before map[string]string
			crashEverywhere(t, "install", func(t *testing.T) *host {
				h := newHost(t, debian)
				h.configMap(everything)
				before = h.etc()
				return h
			}, func(h *host) {
				h.succeed(then...)
				h.expectEtc(before)
			})
		})
	}
}

func TestCrashOfInstallWhereTunedWas(t *testing.T) {
	t.Parallel()
	var before map[string]string
	crashEverywhere(t, "install", func(t *testing.T) *host {
		h := newHost(t, debian)
		h.admin("apt-get install tuned; systemctl stop tuned.service; systemctl disable tuned.service")
		before = h.etc()
		return h
	}, func(h *host) {
		h.succeed("install", "uninstall", "uninstall-check")
		h.expectEtc(before)
	})
}

// changed is a host with a first configMap applied and a second one to come,
// which changes, adds, removes and gives back.
func changed(t *testing.T) (*host, map[string]string) {
	t.Helper()
	h := newHost(t, debian)
	h.admin("apt-get install tuned; tuned-adm profile plain; mkdir -p /etc/tuned/web; echo a >/etc/tuned/web/tuned.conf")
	before := h.etc()
	h.configMap(everything)
	h.succeed("install", "config")
	h.configMap(map[string]string{"db": web, "y_script": script, "boot": "[main]\n", "tuned_profile": "db"})
	return h, before
}

func TestCrashOfConfig(t *testing.T) {
	for name, then := range map[string][]string{
		"and again":     {"config", "config-check", "post-interrupt-check", "uninstall", "uninstall-check"},
		"and uninstall": {"uninstall", "uninstall-check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before map[string]string
			crashEverywhere(t, "config", func(t *testing.T) *host {
				h, found := changed(t)
				before = found
				return h
			}, func(h *host) {
				h.succeed(then...)
				h.expectEtc(before)
			})
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
			var before map[string]string
			crashEverywhere(t, "uninstall", func(t *testing.T) *host {
				h := newHost(t, debian)
				h.admin(prepare)
				before = h.etc()
				h.configMap(everything)
				h.succeed("install", "config")
				return h
			}, func(h *host) {
				h.succeed("uninstall", "uninstall-check")
				h.expectEtc(before)
			})
		})
	}
}

func TestCrashOfUninstallCheck(t *testing.T) {
	t.Parallel()
	var before map[string]string
	crashEverywhere(t, "uninstall-check", func(t *testing.T) *host {
		h := newHost(t, debian)
		before = h.etc()
		h.configMap(everything)
		h.succeed("install", "config", "uninstall")
		return h
	}, func(h *host) {
		h.succeed("uninstall-check", "uninstall", "uninstall-check")
		h.expectEtc(before)
	})
}

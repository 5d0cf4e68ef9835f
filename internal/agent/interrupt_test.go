//go:build integration

package agent_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	interruptFlags = stateDir + "/interrupts/flags/demo-uid-1_tuning_1.1.0"
	interruptLogs  = logsDir + "/tuning/1.1.0/interrupts"
	bootID         = "/proc/sys/kernel/random/boot_id"
)

// fakeCommands stand for the host's: each notes how it was called, then does
// what a file of its name says.
func (h *host) fakeCommands() {
	h.T.Helper()
	for _, name := range []string{"reboot", "systemctl", "service"} {
		h.Write("/usr/bin/"+name, "#!/bin/bash\necho \"${0##*/} $*\" >>/ran\necho \"output of $1\"\n[[ ! -e /does-$1$2 ]] || . /does-$1$2\n")
		h.Must(os.Chmod(h.Path("/usr/bin", name), 0o755))
	}
	h.Write(bootID, "boot-1\n")
}

func (h *host) interrupt(json string) result {
	h.T.Helper()
	return h.runArgs(h.interruptArgs(json)...)
}

func (h *host) interruptArgs(json string) []string {
	return []string{"interrupt", h.Root, copyDir, base64.StdEncoding.EncodeToString([]byte(json))}
}

func newInterruptHost(t *testing.T) *host {
	h := newHost(t)
	h.fakeCommands()
	return h
}

const restartTwo = `{"type":"service_restart","services":["a","b"]}`

func TestInterruptAppliesAllCommands(t *testing.T) {
	h := newInterruptHost(t)
	r := h.interrupt(restartTwo)
	if r.Code != 0 {
		t.Fatalf("exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	h.ExpectLines("/ran", "systemctl daemon-reload", "systemctl restart a", "systemctl restart b")
	if !strings.Contains(r.Stdout, "\nsystemctl restart a\n[out]") {
		t.Errorf("the command is not echoed:\n%s", r.Stdout)
	}
	for _, i := range []string{"0", "1", "2"} {
		if !h.Has(interruptFlags, "service_restart_"+i+".complete") {
			t.Errorf("no flag %s", i)
		}
		logs := h.find(interruptLogs + "/service_restart_" + i + "-*.log")
		if len(logs) != 1 || !strings.HasPrefix(h.Read(logs[0]), "systemctl ") || !strings.Contains(h.Read(logs[0]), "\n[out]") {
			t.Errorf("logs %q", logs)
		}
	}
	if left := h.find(interruptFlags + "/*.started"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestInterruptIsntRunWhenItsFlagIsThere(t *testing.T) {
	h := newInterruptHost(t)
	h.Write(interruptFlags+"/service_restart_0.complete", "1763675000.5")
	h.Write(interruptFlags+"/service_restart_1.complete", "1763675000.5")
	if r := h.interrupt(restartTwo); r.Code != 0 || strings.Count(r.Stdout, "Skipping interrupt") != 2 {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
	if r := h.interrupt(restartTwo); r.Code != 0 || strings.Count(r.Stdout, "Skipping interrupt") != 3 {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
	h.ExpectLines("/ran", "systemctl restart b")
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-uid-2_tuning_1.1.0"
	h.interrupt(`{"type":"service_restart","services":[]}`)
	h.ExpectLines("/ran", "systemctl restart b", "systemctl daemon-reload")
}

func TestAnotherServiceListIsNotTakenForDone(t *testing.T) {
	h := newInterruptHost(t)
	h.interrupt(`{"type":"service_restart","services":["a"]}`)
	h.interrupt(`{"type":"service_restart","services":["b","a"]}`)
	h.ExpectLines("/ran", "systemctl daemon-reload", "systemctl restart a", "systemctl restart b", "systemctl restart a")
}

func TestInterruptFailuresRemoveFlag(t *testing.T) {
	h := newInterruptHost(t)
	h.Write("/does-restarta", "echo 'Unit a not found' >&2; exit 5")
	r := h.interrupt(restartTwo)
	if r.Code != 1 || r.message != "interrupt systemctl restart a exited 5\noutput of restart\nUnit a not found" && r.message != "interrupt systemctl restart a exited 5\nUnit a not found\noutput of restart" {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	if !strings.Contains(r.Stdout, "INTERRUPT FAILED: systemctl restart a") {
		t.Errorf("stdout\n%s", r.Stdout)
	}
	if flags := h.find(interruptFlags + "/*"); len(flags) != 1 || !strings.HasSuffix(flags[0], "service_restart_0.complete") {
		t.Errorf("flags %q", flags)
	}
	h.Must(os.Remove(h.Path("/does-restarta")))
	if r := h.interrupt(restartTwo); r.Code != 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
	h.ExpectLines("/ran", "systemctl daemon-reload", "systemctl restart a", "systemctl restart a", "systemctl restart b")
}

// TestInterruptThatWasStoppedIsBegunAgain, however often: a stop is no crash.
func TestInterruptThatWasStoppedIsBegunAgain(t *testing.T) {
	h := newInterruptHost(t)
	h.Write("/does-restarta", "sleep 60")
	for range 5 {
		cmd, wait := h.start(h.interruptArgs(restartTwo)...)
		h.eventually("the command runs", func() bool { return h.Has(stateDir, "packages/tuning/running") })
		h.Must(cmd.Process.Signal(syscall.SIGTERM))
		if r := wait(); r.Code != 143 {
			t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
		}
	}
	if h.Has(interruptFlags, "service_restart_1.complete") {
		t.Error("counts as done")
	}
	h.Must(os.Remove(h.Path("/does-restarta")))
	if r := h.interrupt(restartTwo); r.Code != 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
	if ran := h.Lines("/ran"); ran[len(ran)-1] != "systemctl restart b" {
		t.Errorf("ran %q", ran)
	}
}

// TestInterruptIsNotLostInACrash: kill -9 between begin and end runs it again,
// but one that always kills the agent does not go on for ever, and is not
// taken for done. Another run of the interrupt begins anew.
func TestInterruptIsNotLostInACrash(t *testing.T) {
	h := newInterruptHost(t)
	h.Write("/does-restarta", "kill -KILL $PPID")
	for range 3 {
		if r := h.interrupt(restartTwo); r.Code != -1 {
			t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
		}
	}
	r := h.interrupt(restartTwo)
	if r.Code != 1 || !strings.Contains(r.message, "interrupt systemctl restart a was started 3 times, and each time the agent was gone before it ended") {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
	h.ExpectLines("/ran", "systemctl daemon-reload", "systemctl restart a", "systemctl restart a", "systemctl restart a")
	h.Must(os.Remove(h.Path("/does-restarta")))
	if r := h.interrupt(restartTwo); r.Code != 1 {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
	h.Env["SKYHOOK_RUN"] = "another"
	if r := h.interrupt(restartTwo); r.Code != 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
	if ran := h.Lines("/ran"); ran[len(ran)-1] != "systemctl restart b" {
		t.Errorf("ran %q", ran)
	}
}

func TestRebootIsDoneWhenTheBootIDChanged(t *testing.T) {
	h := newInterruptHost(t)
	h.Env["SKYHOOK_AGENT_REBOOT_SECONDS"] = "0.1"
	const reboot = `{"type":"node_restart"}`
	for range 2 {
		if r := h.interrupt(reboot); r.Code != 1 || !strings.Contains(r.message, "still runs after 100ms; systemctl list-jobs") {
			t.Errorf("exit %d, message %q", r.Code, r.message)
		}
	}
	h.Write(bootID, "boot-2\n")
	if r := h.interrupt(reboot); r.Code != 0 || !strings.Contains(r.Stdout, "Skipping interrupt node_restart_0") {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
	h.ExpectLines("/ran", "reboot ", "reboot ")
}

// TestRebootOfAnotherBootIsDone: neither a root that does not outlive a boot nor a host that took the node's name is
// rebooted again.
func TestRebootOfAnotherBootIsDone(t *testing.T) {
	const reboot, restart = `{"type":"node_restart"}`, `{"type":"service_restart","services":["a"]}`
	for _, c := range []struct {
		name, given, current, interrupt string
		ran                             []string
	}{
		{"the boot that it is to end", "boot-1", "boot-1\n", reboot, []string{"reboot "}},
		{"another boot", "boot-0", "boot-1\n", reboot, nil},
		{"the operator does not tell", "", "boot-1\n", reboot, []string{"reboot "}},
		{"a restart of services has no boot", "boot-0", "boot-1\n", restart, []string{"systemctl daemon-reload", "systemctl restart a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newInterruptHost(t)
			h.Env["SKYHOOK_AGENT_REBOOT_SECONDS"], h.Env["SKYHOOK_BOOT_ID"] = "0.1", c.given
			h.Write(bootID, c.current)
			r := h.interrupt(c.interrupt)
			if c.ran != nil {
				h.ExpectLines("/ran", c.ran...)
				return
			}
			if r.Code != 0 || !strings.Contains(r.Stdout, "it was to end boot boot-0, and the host runs boot boot-1: it is done") || h.Has("/ran") {
				t.Errorf("exit %d, rebooted %t\n%s%s", r.Code, h.Has("/ran"), r.Stdout, r.Stderr)
			}
		})
	}
}

// TestSigtermWhileRebootingPreservesTheFlag: that is how the host's shutdown
// reaches the agent.
func TestSigtermWhileRebootingPreservesTheFlag(t *testing.T) {
	for name, does := range map[string]string{"after reboot returned": "", "while reboot runs": "while :; do sleep 0.01; done"} {
		t.Run(name, func(t *testing.T) {
			h := newInterruptHost(t)
			h.Write("/does-", does)
			cmd, wait := h.start(h.interruptArgs(`{"type":"node_restart"}`)...)
			h.Must(cmd.Process.Signal(syscall.SIGTERM))
			if r := wait(); r.Code != 143 {
				t.Errorf("exit %d, message %q", r.Code, r.message)
			}
			h.Write(bootID, "boot-2\n")
			if r := h.interrupt(`{"type":"node_restart"}`); r.Code != 0 {
				t.Errorf("exit %d\n%s", r.Code, r.Stderr)
			}
			h.ExpectLines("/ran", "reboot ")
		})
	}
}

func TestRebootThatFailsIsTriedAgain(t *testing.T) {
	h := newInterruptHost(t)
	h.Write("/does-", "exit 1")
	if r := h.interrupt(`{"type":"node_restart"}`); r.Code != 1 || !strings.Contains(r.message, "interrupt reboot exited 1") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	if flags := h.find(interruptFlags + "/*"); len(flags) != 0 {
		t.Errorf("flags %q", flags)
	}
}

func TestInterruptNoopMakesTheFlagFile(t *testing.T) {
	h := newInterruptHost(t)
	if r := h.interrupt(`{"type":"no_op","services":["x"]}`); r.Code != 0 || !h.Has(interruptFlags, "no_op.complete") || h.Has("/ran") {
		t.Errorf("exit %d, flags %q", r.Code, h.find(interruptFlags+"/*"))
	}
	if r := h.interrupt(`{"type":"script_interrupt"}`); r.Code != 0 || len(h.find(interruptFlags+"/*")) != 1 {
		t.Errorf("exit %d, flags %q", r.Code, h.find(interruptFlags+"/*"))
	}
}

func TestRestartAllServices(t *testing.T) {
	h := newInterruptHost(t)
	if r := h.interrupt(`{"type":"restart_all_services"}`); r.Code != 0 || !h.Has(interruptFlags, "restart_all_services_0.complete") {
		t.Errorf("exit %d", r.Code)
	}
	h.ExpectLines("/ran", "service procps force-reload")
	h.Must(os.Remove(h.Path("/usr/bin/service")))
	h.Must(os.RemoveAll(h.Path(interruptFlags)))
	if r := h.interrupt(`{"type":"restart_all_services"}`); r.Code != 1 || !strings.Contains(r.message, "the host has no service in /") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}

func TestInterruptBootstrapsCopyDirBeforeRunning(t *testing.T) {
	h := newInterruptHost(t)
	data := t.TempDir()
	h.Must(os.WriteFile(filepath.Join(data, "file"), nil, 0o644))
	h.Write("/does-", "pwd >>/ran; echo ${STEP_ROOT-none} ${SKYHOOK_DIR-none} >>/ran; exit 1")
	h.Env["SKYHOOK_DATA_DIR"] = "/does/not/exist"
	h.interrupt(`{"type":"node_restart"}`)
	h.Env["SKYHOOK_DATA_DIR"] = data
	h.interrupt(`{"type":"node_restart"}`)
	h.ExpectLines("/ran", "reboot ", "/", "none none", "reboot ", copyDir, "none none")
	if !h.Has(copyDir, "file") {
		t.Error("not copied")
	}
}

func TestInterruptHonorsWriteLogs(t *testing.T) {
	h := newInterruptHost(t)
	h.Env["SKYHOOK_AGENT_WRITE_LOGS"] = "false"
	if r := h.interrupt(restartTwo); r.Code != 0 || h.Has(logsDir) {
		t.Errorf("exit %d, logs %v", r.Code, h.Has(logsDir))
	}
}

func TestInterruptErrors(t *testing.T) {
	h := newInterruptHost(t)
	if r := h.interrupt(`{"type":"reboot"}`); r.Code != 1 || !strings.Contains(r.message, `"reboot" is unknown; known types: node_restart`) {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	for _, id := range []string{"", "a_b", "a_b_c_d", "a_../../x_1.0.0"} {
		h.Env["SKYHOOK_RESOURCE_ID"] = id
		if r := h.interrupt(`{"type":"no_op"}`); r.Code != 1 || !strings.Contains(r.message, "SKYHOOK_RESOURCE_ID") {
			t.Errorf("%q: exit %d, message %q", id, r.Code, r.message)
		}
	}
	if r := h.runArgs("interrupt", "relative", "e30="); r.Code != 1 || !strings.Contains(r.message, "absolute path") {
		t.Errorf("legacy form: exit %d, message %q", r.Code, r.message)
	}
	if h.Has("/ran") || h.Has(stateDir) {
		t.Error("something happened")
	}
}

// TestInterruptThatTakesTooLongIsStopped, and tried again.
func TestInterruptThatTakesTooLongIsStopped(t *testing.T) {
	h := newInterruptHost(t)
	h.Env["SKYHOOK_AGENT_INTERRUPT_SECONDS"] = "0.5"
	h.Write("/does-restarta", "sleep 60")
	for range 4 {
		if r := h.interrupt(restartTwo); r.Code != 1 || !strings.Contains(r.message, "interrupt systemctl restart a did not end within 500ms, and was killed by SIGTERM when told to stop") {
			t.Fatalf("exit %d, message %q", r.Code, r.message)
		}
	}
	h.Must(os.Remove(h.Path("/does-restarta")))
	if r := h.interrupt(restartTwo); r.Code != 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
}

//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Requests of ioctl(2) that stop and resume writing to a file system.
const (
	freeze = 0xC0045877
	thaw   = 0xC0045878
)

// frozen mounts a file system of its own on the host that lets nobody write: a
// process that tries waits where no signal ends it.
func (h *host) frozen(name string) (resume func()) {
	h.T.Helper()
	image := filepath.Join(h.T.TempDir(), "image")
	h.Must(os.WriteFile(image, nil, 0o644))
	h.Must(os.Truncate(image, 16<<20))
	h.Must(os.MkdirAll(h.Path(name), 0o755))
	command := func(argv ...string) {
		h.T.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			h.T.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	command("mkfs.ext4", "-q", image)
	command("mount", "-o", "loop", image, h.Path(name))
	dir, err := os.Open(h.Path(name))
	h.Must(err)
	resume = func() { _ = unix.IoctlSetInt(int(dir.Fd()), thaw, 0) }
	h.T.Cleanup(func() {
		resume()
		_ = dir.Close()
		h.eventually("the file system is not in use any more", func() bool { return syscall.Unmount(h.Path(name), 0) == nil })
	})
	h.Must(unix.IoctlSetInt(int(dir.Fd()), freeze, 0))
	return resume
}

const writer = "echo begun >>/ran; echo x >/frozen/file"

// TestStepThatCannotBeKilled: its time limit and SIGTERM hold all the same, and
// nothing of the package runs beside it.
func TestStepThatCannotBeKilled(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STEP_SECONDS"], h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.2", "0.2"
	h.Env["SKYHOOK_AGENT_CHECK_SECONDS"] = "60"
	h.define("apply", h.Script("a.sh", writer))
	h.Env["TOKEN"] = "hunter2"
	h.define("apply-check", h.Script("c.sh", writer, "env:TOKEN"), h.Script("d.sh", "echo beside >>/ran"))
	resume := h.frozen("/frozen")
	r := h.fail("apply-check", "step c.sh env:TOKEN could not be killed (state D): process ", "c.sh")
	if !strings.Contains(r.message, copyDir+"/skyhook_dir/c.sh ***") {
		t.Errorf("the command is not named: %q", r.message)
	}
	for _, mode := range []string{"apply", "apply-check", "uninstall"} {
		h.fail(mode, "step c.sh env:TOKEN of an earlier run could not be killed and is still there (process ", ", state D); ", "reboot the host")
	}
	if r := h.interrupt(restartTwo); r.Code != 1 || !strings.Contains(r.message, "step c.sh env:TOKEN of an earlier run") {
		t.Errorf("interrupt: exit %d, message %q", r.Code, r.message)
	}
	h.ExpectLines("/ran", "begun")
	resume()
	delete(h.Env, "SKYHOOK_AGENT_STEP_SECONDS")
	h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "30"
	h.succeed("apply")
	h.ExpectLines("/ran", "begun", "begun")
	if h.Has(stateDir, "packages/tuning/running") {
		t.Error("the note of the process is left")
	}
}

func TestSigtermWhileTheStepCannotBeKilled(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.2"
	h.define("apply", h.Script("a.sh", writer))
	h.frozen("/frozen")
	cmd, _, _ := h.unread("apply")
	h.eventually("nothing ends the step", func() bool { return uninterruptible("a.sh") })
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	h.endsWithin(20*time.Second, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), "step a.sh could not be killed (state D)") {
		t.Errorf("exit %d, message %q", code, h.message())
	}
}

// uninterruptible reports whether a process with that script waits where no signal ends it, as proc_pid_stat(5) tells.
func uninterruptible(script string) bool {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(commands, func(command string) bool {
		argv, _ := os.ReadFile(command)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(command), "stat"))
		return strings.Contains(string(argv), "/"+script+"\x00") && strings.Contains(string(stat), ") D ")
	})
}

// TestStepOfAnAgentThatWasKilled is ended before it is begun again.
func TestStepOfAnAgentThatWasKilled(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `echo begun >>/ran; [[ -e /again ]] || { echo ready; sleep 300 & wait; }; echo ended >>/ran`))
	cmd, _, _ := h.unread("apply")
	h.eventually("the step has begun", func() bool { return h.Has("/ran") })
	h.Must(cmd.Process.Kill())
	_ = cmd.Wait()
	h.Write("/again", "")
	h.succeed("apply")
	h.ExpectLines("/ran", "begun", "begun", "ended")
}

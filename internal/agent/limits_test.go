//go:build integration

package agent_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestStepThatTakesTooLongIsStopped(t *testing.T) {
	tests := map[string]struct {
		body, want string
	}{
		"it ends when told to":         {"sleep 60", "a.sh did not end within 200ms, and was killed by SIGTERM when told to stop"},
		"it cleans up":                 {"trap 'echo cleaned; exit 0' TERM; sleep 60 & wait", "a.sh did not end within 200ms, and exited 0 when told to stop\ncleaned"},
		"it does not want to hear it":  {"trap '' TERM; sleep 60; sleep 60", "a.sh did not end within 200ms, and was killed by SIGKILL when told to stop"},
		"its children are stopped too": {"sleep 60 | sleep 60", "a.sh did not end within 200ms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.Env["SKYHOOK_AGENT_STEP_SECONDS"] = "0.2"
			h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.3"
			h.define("apply", h.Script("a.sh", test.body))
			r := h.fail("apply", "did not end within")
			if !strings.Contains(r.message, test.want) || h.Has(flagsDir, "a.sh"+flagNoArgs) {
				t.Errorf("message %q", r.message)
			}
		})
	}
}

// TestStepInTimeIsNotStopped: what it leaves behind does not count.
func TestStepInTimeIsNotStopped(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STEP_SECONDS"] = "0.8"
	h.define("apply", h.Script("a.sh", "sleep 3 &"))
	h.succeed("apply")
}

func TestCheckThatNeedsTimeToSettle(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("apply-check", h.Script("c.sh", "echo x >>/ran; [[ $(wc -l </ran) -ge 3 ]]"))
	h.fail("apply-check", "c.sh exited 1")
	h.ExpectLines("/ran", "x")
	h.Env["SKYHOOK_AGENT_CHECK_SECONDS"] = "30"
	r := h.succeed("apply-check")
	h.ExpectLines("/ran", "x", "x", "x")
	if !strings.Contains(r.Stdout, "check c.sh failed; it is retried until it succeeds, or 30s have passed") {
		t.Errorf("stdout\n%s", r.Stdout)
	}
	if logs := h.find(logsDir + "/shell/1.1.0/c.sh-*.log"); len(logs) != 2 {
		t.Errorf("logs of the first and the last try: %q", logs)
	}
	if h.Read(stateDir, "flags/check_results") != "c.sh False" {
		t.Error("the first result was recorded, not the last")
	}
}

func TestCheckThatCannotSettleIsNotTriedAgain(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_CHECK_SECONDS"] = "3600"
	h.define("apply", h.Script("a.sh", ""))
	h.define("apply-check", h.Script("c.sh", "", "env:NONE"))
	h.fail("apply-check", "Expected environment variable did not exist: NONE; add it to env of the package")
}

func TestCheckThatNeverSettlesFails(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_CHECK_SECONDS"] = "1.2"
	h.define("apply", h.Script("a.sh", ""))
	h.define("apply-check", h.Script("c.sh", "echo x >>/ran; exit 4"))
	h.fail("apply-check", "c.sh exited 4")
	if n := len(h.Lines("/ran")); n < 2 || n > 3 {
		t.Errorf("tried %d times", n)
	}
}

func TestHostNamespacesAreRefusedWithAReason(t *testing.T) {
	tests := map[string]string{
		"net":   `SKYHOOK_HOST_NAMESPACES is "net"; the only value is "mount"`,
		"mount": "find the host's mount namespace for SKYHOOK_HOST_NAMESPACES=mount",
	}
	for value, want := range tests {
		h := newHost(t)
		h.Env["SKYHOOK_HOST_NAMESPACES"] = value
		h.define("apply", h.Script("a.sh", "touch /ran"))
		h.fail("apply", want)
		if h.Has("/ran") {
			t.Errorf("%s: the step ran", value)
		}
	}
}

const uid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// TestCopiesOfEarlierGenerationsGo: after a successful check only those copies
// stay that the host may still use.
func TestCopiesOfEarlierGenerationsGo(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("config", h.Script("c.sh", ""))
	h.define("config-check", h.Script("cc.sh", "exit $(cat /fails)"))
	h.define("uninstall", h.Script("u.sh", ""))
	h.Write("/fails", "0")
	h.Save()
	generation := func(number string) string { return "tuning-1.1.0-" + uid + "-" + number }
	run := func(mode, number string) result {
		t.Helper()
		h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-" + number + "_tuning_1.1.0"
		dir := filepath.Join(stateDir, generation(number))
		h.copyTree(copyDir, dir)
		return h.runArgs(mode, h.Root, dir)
	}
	expect := func(when string, want ...string) {
		t.Helper()
		var left []string
		for _, path := range h.find(stateDir + "/tuning-1.1.0-" + uid + "-*") {
			left = append(left, path[strings.LastIndex(path, "-")+1:])
		}
		if strings.Join(left, " ") != strings.Join(want, " ") {
			t.Errorf("%s: copies %q, want %q", when, left, want)
		}
	}
	for _, mode := range []string{"apply", "apply-check", "config", "config-check"} {
		run(mode, "1")
	}
	run("config", "2")
	run("config-check", "2")
	expect("installed from 1, configured from 2", "1", "2")
	run("config", "3")
	run("config", "4")
	expect("a mode is no check", "1", "2", "3", "4")
	h.Write("/fails", "1")
	if r := run("config-check", "4"); r.Code != 1 {
		t.Fatal("the check did not fail")
	}
	expect("a failed check removes nothing", "1", "2", "3", "4")
	h.Write("/fails", "0")
	run("config-check", "4")
	expect("configured from 4, after 3", "1", "3", "4")
	run("apply", "5")
	run("apply-check", "5")
	expect("the step was skipped: still installed from 1", "1", "4", "5")
	h.Env["OVERLAY_ALWAYS_RUN_STEP"] = "true"
	run("apply", "6")
	run("apply-check", "6")
	expect("installed from 6, configured from 4", "4", "5", "6")
	run("uninstall", "7")
	if r := run("uninstall-check", "7"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	expect("uninstalled", "7")
}

// TestCopiesOfUpgradesGo: a step that was run again, in whichever version, is
// no reason to keep the copy that it was run from before.
func TestCopiesOfUpgradesGo(t *testing.T) {
	h := newHost(t)
	h.define("upgrade", h.Script("u.sh", ""))
	for _, version := range []string{"1.1.0", "1.2.0", "1.3.0", "1.4.0"} {
		h.Config["package_version"] = version
		h.Save()
		number := version[2:3]
		h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-" + number + "_tuning_" + version
		dir := filepath.Join(stateDir, "tuning-"+version+"-"+uid+"-"+number)
		h.copyTree(copyDir, dir)
		for _, mode := range []string{"upgrade", "upgrade-check"} {
			if r := h.runArgs(mode, h.Root, dir); r.Code != 0 {
				t.Fatal(r.Stderr)
			}
		}
	}
	if left := h.find(stateDir + "/tuning-*-" + uid + "-*"); len(left) != 2 || !h.Has(stateDir, "tuning-1.3.0-"+uid+"-3") {
		t.Errorf("left %q", left)
	}
}

// TestCopiesOfAnAgentInTheFieldStay: it is not known what they are used for.
func TestCopiesOfAnAgentInTheFieldStay(t *testing.T) {
	h := newHost(t)
	h.define("config", h.Script("c.sh", ""))
	h.define("uninstall", h.Script("u.sh", ""))
	h.Save()
	run := func(mode, number string) {
		t.Helper()
		h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-" + number + "_tuning_1.1.0"
		dir := filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-"+number)
		h.copyTree(copyDir, dir)
		if r := h.runArgs(mode, h.Root, dir); r.Code != 0 {
			t.Fatal(r.Stderr)
		}
	}
	fielded := filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-1")
	h.copyTree(copyDir, fielded)
	for _, number := range []string{"2", "3", "5"} {
		run("config", number)
		run("config-check", number)
	}
	if left := h.find(stateDir + "/tuning-1.1.0-" + uid + "-*"); len(left) != 3 || !h.Has(fielded) {
		t.Errorf("left %q", left)
	}
	run("uninstall", "6")
	run("uninstall-check", "6")
	if h.Has(fielded) {
		t.Error("it outlives the package")
	}
}

func TestInterruptFlagsOfEarlierGenerationsGo(t *testing.T) {
	h := newInterruptHost(t)
	flags := stateDir + "/interrupts/flags/"
	h.Write(flags+"demo-"+uid+"-1_tuning_1.1.0/no_op.complete", "1")
	h.Write(flags+"demo-"+uid+"-1_other_1.1.0/no_op.complete", "1")
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-2_tuning_1.1.0"
	if r := h.interrupt(`{"type":"no_op"}`); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	if got := strings.Join(h.find(flags+"*"), " "); got != flags+"demo-"+uid+"-1_other_1.1.0 "+flags+"demo-"+uid+"-2_tuning_1.1.0" {
		t.Errorf("left %s", got)
	}
}

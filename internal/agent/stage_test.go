//go:build integration

package agent_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	flagsDir   = stateDir + "/flags/shell/1.1.0"
	flagNoArgs = "_W11fWzBd"
	history    = stateDir + "/history/shell.json"
)

func TestStepsRunInOrderOnTheHost(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("one.sh", "echo one $* >>/ran; pwd >>/ran; id -u >>/ran", "a b", "c"), h.Script("two.sh", "echo two >>/ran"))
	h.succeed("apply")
	h.ExpectLines("/ran", "one a b c", copyDir, "0", "two")
}

func TestStepRootIsSetCorrectly(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("sub/one.sh", `echo "$0" "$STEP_ROOT" "$SKYHOOK_DIR" "$SKYHOOK_RESOURCE_ID" >/ran`))
	h.succeed("apply")
	h.ExpectLines("/ran", copyDir+"/skyhook_dir/sub/one.sh "+copyDir+"/skyhook_dir "+copyDir+" demo-uid-1_tuning_1.1.0")
}

func TestWhenAStepFailsNextStepsArentRun(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("one.sh", "echo one >>/ran"), h.Script("bad.sh", "exit 3", "x"), h.Script("three.sh", "echo three >>/ran"))
	r := h.fail("apply", "step bad.sh x exited 3")
	h.ExpectLines("/ran", "one")
	if !strings.Contains(r.Stdout, "SUCEEDED: one.sh\n") || !strings.Contains(r.Stdout, "FAILED: bad.sh x 3\n") { //nolint:misspell // as in the field
		t.Errorf("result lines:\n%s", r.Stdout)
	}
	if h.Has(flagsDir, "bad.sh_WyJ4Il1fWzBd") || !h.Has(flagsDir, "one.sh"+flagNoArgs) {
		t.Errorf("flags: %v", h.find(flagsDir+"/*"))
	}
}

func TestRealExitCodesDecide(t *testing.T) {
	tests := []struct {
		accepted []any
		exit     int
		ok       bool
	}{
		{[]any{0}, 0, true},
		{[]any{0}, 1, false},
		{[]any{0, 2}, 2, true},
		{[]any{0, 2}, 1, false},
		{[]any{1}, 1, true},
		{[]any{1}, 0, false},
		{[]any{1}, 2, false},
		{[]any{255}, 255, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.accepted, test.exit), func(t *testing.T) {
			h := newHost(t)
			h.define("apply", h.Script("a.sh", fmt.Sprintf("exit %d", test.exit)).With("returncodes", test.accepted))
			if r := h.run("apply"); (r.Code == 0) != test.ok {
				t.Errorf("exit %d\n%s", r.Code, r.Stderr)
			}
		})
	}
}

func TestStepKilledBySignalFails(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "kill -KILL $$").With("returncodes", []any{0, 137, 9, -9}))
	h.fail("apply", "step a.sh was killed by SIGKILL", "; the kernel does this when memory runs out: see dmesg on the host")
	h.define("apply", h.Script("a.sh", "bash -c 'kill -KILL $$'; exit $?"))
	h.fail("apply", "step a.sh exited 137; the kernel does this when memory runs out: see dmesg on the host")
}

func TestStepThatCannotStartFails(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	for content, want := range map[string]string{
		"echo no interpreter line\n": "#!/bin/bash",
		"#!/opt/none -x\n":           "the host has no /opt/none",
	} {
		h.Write(copyDir+"/skyhook_dir/a.sh", content)
		h.fail("apply", "step a.sh could not be started", want)
	}
}

// TestSkipRules is rule by rule what a step that has succeeded before does.
func TestSkipRules(t *testing.T) {
	tests := map[string]struct {
		mode      string
		alwaysRun bool
		overlay   string
		runs      string
		says      string
	}{
		"a step that has a flag":        {"apply", false, "", "1", "Skipping step a.sh"},
		"after an interrupt":            {"post-interrupt", false, "", "1", "Skipping step a.sh"},
		"all steps are to run":          {"apply", false, "true", "2", "OVERLAY_ALWAYS_RUN_STEP"},
		"overlay_false":                 {"apply", false, "false", "1", "Skipping step a.sh"},
		"the step is idempotent itself": {"apply", true, "", "2", "idempotence is true"},
		"config_always_runs":            {"config", false, "", "2", "steps of config always do"},
		"uninstall_always_runs":         {"uninstall", false, "", "2", "steps of uninstall always do"},
		"upgrade_always_runs":           {"upgrade", false, "", "2", "steps of upgrade always do"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			if test.overlay != "" {
				h.Env["OVERLAY_ALWAYS_RUN_STEP"] = test.overlay
			}
			h.define(test.mode, h.Script("a.sh", "echo x >>/ran").With("idempotence", test.alwaysRun))
			first := h.succeed(test.mode)
			if strings.Contains(first.Stdout, "has run before") {
				t.Errorf("the first run said\n%s", first.Stdout)
			}
			flag := h.Read(flagsDir, "a.sh"+flagNoArgs)
			want := "\nstep_always_runs: False\npackage: tuning tuning-1.1.0-uid-1"
			if test.alwaysRun || test.overlay == "true" {
				want = "\nstep_always_runs: True\npackage: tuning tuning-1.1.0-uid-1"
			}
			if !strings.HasPrefix(flag, "last_run: 20") || !strings.HasSuffix(flag, want) {
				t.Errorf("flag %q", flag)
			}
			second := h.succeed(test.mode)
			if runs := fmt.Sprint(len(h.Lines("/ran"))); runs != test.runs {
				t.Errorf("ran %s times, want %s", runs, test.runs)
			}
			if !strings.Contains(second.Stdout+second.Stderr, test.says) {
				t.Errorf("want %q in\n%s%s", test.says, second.Stdout, second.Stderr)
			}
		})
	}
}

func TestOnlyTheDoneStepIsSkipped(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo a >>/ran"))
	h.succeed("apply")
	h.define("apply", h.Script("a.sh", "echo a >>/ran"), h.Script("b.sh", "echo b >>/ran"))
	h.succeed("apply")
	h.ExpectLines("/ran", "a", "b")
}

func TestSameStepsDifferentArgsArentSkipped(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo $1 >>/ran", "x"), h.Script("a.sh", "echo $1 >>/ran", "y"),
		h.Script("a.sh", "echo $1 >>/ran", "y").With("returncodes", []any{0, 1}))
	h.succeed("apply")
	h.ExpectLines("/ran", "x", "y", "y")
}

// TestStateOfHostsInTheFieldIsHonored starts from the files that the agent in
// the field leaves behind.
func TestStateOfHostsInTheFieldIsHonored(t *testing.T) {
	h := newHost(t)
	h.Write(flagsDir+"/a.sh_WydhcHBseSddX1swXQ==", "last_run: 2025-11-20T21:42:45.607560\nstep_always_runs: False")
	h.Write(history, `{"current-version": "1.0.0", "history": [{"version": "1.0.0", "time": "2025-11-20T21:42:45.607560+00:00"}]}`)
	h.define("apply", h.Script("a.sh", "echo a >>/ran", "apply"))
	h.define("upgrade", h.Script("u.sh", "echo $PREVIOUS_VERSION >>/ran"))
	h.succeed("apply")
	h.succeed("upgrade")
	h.succeed("upgrade-check")
	h.ExpectLines("/ran", "1.0.0")
	if got := h.Read(history); !strings.HasPrefix(got, `{"current-version": "1.1.0", "history": [{"version": "1.1.0", "time": "`) ||
		!strings.HasSuffix(got, `}, {"version": "1.0.0", "time": "2025-11-20T21:42:45.607560+00:00"}]}`) {
		t.Errorf("history %s", got)
	}
}

func TestAnyCheckFailingFailsRunButAllChecksRun(t *testing.T) {
	h := newHost(t)
	h.define("apply-check", h.Script("a.sh", "echo a >>/ran; echo why a; exit 1"), h.Script("b.sh", "echo b >>/ran"),
		h.Script("c.sh", "echo c >>/ran; echo why c >&2; exit 4"))
	h.define("apply", h.Script("x.sh", ""))
	h.Write(stateDir+"/flags/apply-check_ALL_CHECKED", "")
	r := h.fail("apply-check", "2 checks failed: step a.sh exited 1; step c.sh exited 4")
	h.ExpectLines("/ran", "a", "b", "c")
	if !strings.HasSuffix(r.message, "\nwhy a\nwhy c") {
		t.Errorf("message %q", r.message)
	}
	if got := h.Read(stateDir, "flags/check_results"); got != "a.sh True\nb.sh False\nc.sh True" {
		t.Errorf("results %q", got)
	}
	if h.Has(stateDir, "flags/apply-check_ALL_CHECKED") || h.Has(history) {
		t.Error("the failed check left a verdict or a history")
	}
}

func TestChecksAreNeverSkipped(t *testing.T) {
	h := newHost(t)
	h.define("apply-check", h.Script("a.sh", "echo a >>/ran"))
	h.define("apply", h.Script("a.sh", "echo a >>/ran"))
	h.succeed("apply")
	for range 2 {
		h.succeed("apply-check")
	}
	h.ExpectLines("/ran", "a", "a", "a")
	if !h.Has(stateDir, "flags/apply-check_ALL_CHECKED") {
		t.Error("no verdict")
	}
}

func TestCheckDoesNotFailWhenNoStepsAreDefined(t *testing.T) {
	h := newHost(t)
	h.define("config", h.Script("a.sh", ""))
	for _, mode := range []string{"apply", "apply-check", "uninstall", "upgrade-check"} {
		r := h.succeed(mode)
		if !strings.Contains(r.Stderr, "no steps for "+mode+"; nothing to do") {
			t.Errorf("%s: stderr %q", mode, r.Stderr)
		}
	}
	if !h.Has(stateDir, "flags/START") || len(h.find(stateDir+"/flags/*_ALL_CHECKED")) != 0 {
		t.Errorf("flags %v", h.find(stateDir+"/flags/*"))
	}
	if !strings.Contains(h.Read(history), `"current-version": "1.1.0"`) {
		t.Error("the version of a package without checks is not recorded")
	}
	if r := h.succeed("config"); strings.Contains(r.Stderr, "nothing to do") {
		t.Errorf("stderr %q", r.Stderr)
	}
}

func TestVersionHistory(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("upgrade", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("a.sh", ""))
	current := func() string {
		_, rest, _ := strings.Cut(h.Read(history), `"current-version": "`)
		version, _, _ := strings.Cut(rest, `"`)
		return version
	}
	h.succeed("apply")
	if h.Has(history) {
		t.Error("recorded before the check")
	}
	h.succeed("apply-check")
	if current() != "1.1.0" {
		t.Error("version_history_is_created_after_apply")
	}
	before := h.Read(history)
	h.succeed("apply-check")
	if h.Read(history) != before {
		t.Error("the same version was recorded twice")
	}
	h.Config["package_version"] = "1.2.0"
	h.succeed("upgrade-check")
	if current() != "1.2.0" || strings.Count(h.Read(history), `"time"`) != 2 {
		t.Errorf("version_history_is_updated_after_upgrade: %s", h.Read(history))
	}
	h.succeed("uninstall-check")
	if current() != "uninstalled" {
		t.Errorf("version_history_is_updated_after_uninstall: %s", h.Read(history))
	}
	h.Write(history, "not JSON")
	if r := h.succeed("apply-check"); !strings.Contains(r.Stderr, "WARNING: the history of shell cannot be read") || !strings.Contains(r.Stderr, history+".backup") {
		t.Errorf("stderr %q", r.Stderr)
	}
	if h.Read(history+".backup") != "not JSON" || current() != "1.2.0" {
		t.Error("corrupt_history_file_is_moved_to_backup")
	}
}

func TestUpgradeVersions(t *testing.T) {
	h := newHost(t)
	body := `echo "$# $* $PREVIOUS_VERSION $CURRENT_VERSION" >>/ran`
	h.define("upgrade", h.Script("a.sh", body), h.Script("b.sh", body).With("upgrade_step", true))
	h.define("upgrade-check", h.Script("c.sh", body).With("upgrade_step", true))
	h.define("apply", h.Script("d.sh", `echo "${PREVIOUS_VERSION-none}" >>/ran`))
	h.succeed("upgrade")
	h.Write(history, `{"current-version": "1.0.0", "history": []}`)
	h.succeed("upgrade")
	h.succeed("upgrade-check")
	h.succeed("apply")
	h.ExpectLines("/ran",
		"0  unknown 1.1.0", "2 unknown 1.1.0 unknown 1.1.0",
		"0  1.0.0 1.1.0", "2 1.0.0 1.1.0 1.0.0 1.1.0", "2 1.0.0 1.1.0 1.0.0 1.1.0",
		"none")
	if !h.Has(flagsDir, "b.sh"+flagNoArgs) {
		t.Error("the versions became part of the flag's name")
	}
}

func TestFlagsAreRemovedAfterUninstall(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo a >>/ran"))
	h.define("uninstall", h.Script("u.sh", ""))
	h.define("uninstall-check", h.Script("uc.sh", "exit $(cat /fails)"))
	other := strings.Replace(flagsDir, "1.1.0", "1.0.0", 1) + "/a.sh" + flagNoArgs
	h.Write(other, "")
	h.Write(flagsDir+"/unknown.sh"+flagNoArgs, "")
	h.succeed("apply")
	h.succeed("uninstall")

	h.Write("/fails", "1")
	h.fail("uninstall-check", "step uc.sh exited 1")
	if !h.Has(flagsDir, "a.sh"+flagNoArgs) || !h.Has(other) {
		t.Error("flags_arent_removed_after_failed_uninstall")
	}
	h.Write("/fails", "0")
	h.succeed("uninstall-check")
	if h.Has(flagsDir, "a.sh"+flagNoArgs) || h.Has(other) || !h.Has(flagsDir, "unknown.sh"+flagNoArgs) {
		t.Errorf("flags after uninstall: %v", h.find(stateDir+"/flags/shell/*/*"))
	}
	h.succeed("apply")
	h.ExpectLines("/ran", "a", "a")
}

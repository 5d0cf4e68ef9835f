//go:build integration

package shellscript_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
	"github.com/skyhook-operator/skyhook/test/inputs"
)

var hooks = []string{
	"apply", "apply_check", "upgrade", "upgrade_check", "config", "config_check",
	"post_interrupt", "post_interrupt_check", "uninstall", "uninstall_check",
}

// run runs a hook with a configMap, laid out as a copied mount of it is.
func run(t *testing.T, hook string, configMap map[string]string, env ...string) hostroot.Result {
	t.Helper()
	h := &hostroot.Host{T: t, Root: t.TempDir()}
	h.Must(inputs.Files("skyhook_dir"))
	h.ConfigMap("configmaps", configMap)
	cmd := exec.Command("skyhook_dir/shellscript_run.sh", hook)
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "SKYHOOK_DIR=" + h.Root}, env...)
	return h.End(cmd)
}

func TestEveryHookRunsItsScript(t *testing.T) {
	configMap := map[string]string{"data.txt": "from the map"}
	for _, hook := range hooks {
		configMap[hook+".sh"] = "#!/bin/bash\necho script of " + hook + " \"$1\"\ncat $SKYHOOK_DIR/configmaps/data.txt"
	}
	for _, hook := range hooks {
		if r := run(t, hook, configMap); r.Code != 0 || r.Stdout != "script of "+hook+" "+hook+"\nfrom the map" {
			t.Errorf("%s: %+v", hook, r)
		}
	}
}

// TestDemo has the keys of the demo in the project's README.
func TestDemo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skyhook-hello-world")
	configMap := map[string]string{
		"apply.sh":        "#!/bin/bash\necho \"hello world\" > " + file,
		"apply_check.sh":  "#!/bin/bash\ncat " + file,
		"config.sh":       "#!/bin/bash\necho \"a config is run\" >> " + file,
		"config_check.sh": "#!/bin/bash\ngrep \"config\" " + file,
	}
	if r := run(t, "apply_check", configMap); r.Code == 0 {
		t.Error("the check succeeds before the stage")
	}
	for _, hook := range hooks[:6] {
		if r := run(t, hook, configMap); r.Code != 0 {
			t.Errorf("%s: %+v", hook, r)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "hello world\na config is run\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHowScriptsRun(t *testing.T) {
	tests := map[string]struct {
		script string
		env    []string
		code   int
		stdout string
	}{
		"exit code":              {"#!/bin/bash\nexit 42", nil, 42, ""},
		"last command decides":   {"#!/bin/bash\nfalse", nil, 1, ""},
		"no set -e":              {"#!/bin/bash\nfalse\necho $undefined on", nil, 0, "on\n"},
		"bash without a shebang": {"[[ a == a ]] && echo ${BASH_VERSION:+bash}", nil, 0, "bash\n"},
		"return ends a script":   {"#!/bin/bash\nreturn 7\necho not reached", nil, 7, ""},
		"own name":               {"#!/bin/bash\necho ${0##*/} ${BASH_SOURCE##*/} $#", nil, 0, "apply.sh apply.sh 1\n"},
		"options of the shebang": {"#!/bin/bash -e\nfalse\necho not reached", nil, 1, ""},
		"no option":              {"#!/bin/bash -\necho on", nil, 0, "on\n"},
		"blank in the shebang":   {"#! /bin/bash\necho on", nil, 0, "on\n"},
		"carriage return":        {"#!/bin/bash\r\necho on", nil, 0, "on\n"},
		"sh":                     {"#!/bin/sh\n[[ a == a* ]] && x=(b c); echo ${BASH_VERSION:+bash} ${x[1]} $1", nil, 0, "bash c apply\n"},
		"sh with options":        {"#!/bin/sh -e\nfalse\necho not reached", nil, 1, ""},
		"sh by env":              {"#!/usr/bin/env sh\necho ${BASH_VERSION:+bash}; return 3", nil, 3, "bash\n"},
		"sh is not posix":        {"#!/bin/sh\ncat <(echo on)", nil, 0, "on\n"},
		"dash":                   {"#!/bin/dash\nreturn 4", nil, 4, ""},
		"bash elsewhere":         {"#!/opt/none/bash\necho on", nil, 0, "on\n"},
		"comment in the shebang": {"#!/bin/bash # by hand\necho on", nil, 0, "on\n"},
		"several options":        {"#!/bin/bash -eu -o pipefail\nfalse | true\necho not reached", nil, 1, ""},
		"options in one":         {"#!/bin/bash -euo pipefail\nfalse | true\necho not reached", nil, 1, ""},
		"env":                    {"#!/usr/bin/env bash\necho ${BASH_VERSION:+bash}; return 3", nil, 3, "bash\n"},
		"env with options":       {"#!/usr/bin/env -S bash -e\nfalse", nil, 1, ""},
		"empty":                  {"", nil, 0, ""},
		"one line without end":   {"#!/bin/bash", nil, 0, ""},
		"environment":            {"echo $X $PREVIOUS_VERSION $CURRENT_VERSION", []string{"X=x", "PREVIOUS_VERSION=1.0.0", "CURRENT_VERSION=1.2.0"}, 0, "x 1.0.0 1.2.0\n"},
		"strict: failure":        {"#!/bin/bash\nfalse\necho not reached", strict, 1, ""},
		"strict: pipe":           {"#!/bin/bash\nfalse | true\necho not reached", strict, 1, ""},
		"strict: sh":             {"#!/bin/sh\nfalse | true\necho not reached", strict, 1, ""},
		"strict: env":            {"#!/usr/bin/env bash\nfalse\necho not reached", strict, 1, ""},
		"strict: options stay":   {"#!/bin/bash -f\necho *; false\necho not reached", strict, 1, "*\n"},
		"strict: good":           {"#!/bin/bash\necho on", strict, 0, "on\n"},
		"strict only if true":    {"#!/bin/bash\nfalse\necho on", []string{"SHELLSCRIPT_STRICT=false"}, 0, "on\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, "apply", map[string]string{"apply.sh": test.script}, test.env...)
			if r.Code != test.code || r.Stdout != test.stdout {
				t.Errorf("got %+v", r)
			}
		})
	}
}

var strict = []string{"SHELLSCRIPT_STRICT=true"}

// TestFailures are those where the exact code is the interpreter's business.
func TestFailures(t *testing.T) {
	tests := map[string]struct {
		script string
		env    []string
		stderr string
	}{
		"broken syntax":       {"#!/bin/bash\nif then", nil, "syntax error"},
		"undefined, strict":   {"echo $undefined on", strict, "unbound variable"},
		"missing interpreter": {"#!/opt/none\n", nil, `"apply.sh" wants /opt/none, which this host does not have`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, "apply", map[string]string{"apply.sh": test.script}, test.env...)
			if r.Code == 0 || !strings.Contains(r.Stderr, test.stderr) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestAnotherInterpreter(t *testing.T) {
	if r := run(t, "apply", map[string]string{"apply.sh": "#!/usr/bin/head -n2\none\ntwo\n"}); !strings.Contains(r.Stdout, "one") || strings.Contains(r.Stdout, "two") {
		t.Errorf("head: %+v", r)
	}
}

// TestFullDisk: bash before 5.1 needs a temporary file for text that it gives to
// a command. The script still runs as its "#!" line says.
func TestFullDisk(t *testing.T) {
	full := t.TempDir()
	if err := syscall.Mount("test", full, "tmpfs", 0, "nr_inodes=1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(full, syscall.MNT_DETACH) })
	for script, want := range map[string]string{
		"#! /usr/bin/head -n2 \none\ntwo\n":           "one",
		"#!/bin/bash -e\necho one\nfalse\necho two\n": "one",
	} {
		r := run(t, "apply", map[string]string{"apply.sh": script}, "TMPDIR="+full, "BASH_COMPAT=50")
		if r.Code != 1 || !strings.Contains(r.Stdout, want) || strings.Contains(r.Stdout, "two") || strings.Contains(r.Stderr, "shellscript_run.sh: line") {
			t.Errorf("%q: %+v", script, r)
		}
	}
}

func TestMissingScripts(t *testing.T) {
	script := "#!/bin/bash\necho ran"
	tests := map[string]struct {
		hook   string
		keys   []string
		code   int
		stdout string
		stderr string
	}{
		"no configMap":              {"apply", nil, 0, `no "apply.sh", nothing to do for apply`, ""},
		"nothing known":             {"apply", []string{"data.txt"}, 0, "warning: the configMap has none of the scripts", ""},
		"other stage":               {"config", []string{"apply.sh"}, 0, `no "config.sh"`, ""},
		"check missing":             {"apply_check", []string{"apply.sh"}, 0, `no "apply_check.sh"`, ""},
		"no upgrade script":         {"upgrade", []string{"apply.sh", "config.sh"}, 0, `no "upgrade.sh"`, ""},
		"only the check":            {"apply", []string{"apply_check.sh"}, 0, `warning: the configMap has "apply_check.sh" but no "apply.sh"`, ""},
		"only the check, checked":   {"apply_check", []string{"apply_check.sh"}, 0, "ran", ""},
		"only the config check":     {"config", []string{"config_check.sh"}, 0, `but no "config.sh"`, ""},
		"only the uninstall check":  {"uninstall", []string{"uninstall_check.sh"}, 0, `but no "uninstall.sh"`, ""},
		"only the upgrade check":    {"upgrade", []string{"upgrade_check.sh"}, 0, `but no "upgrade.sh"`, ""},
		"check after an interrupt":  {"post_interrupt", []string{"post_interrupt_check.sh"}, 0, `no "post_interrupt.sh"`, ""},
		"unknown hook":              {"prepare", nil, 1, "", `unknown hook "prepare"`},
		"check of another stage":    {"apply", []string{"config_check.sh", "config.sh"}, 0, `no "apply.sh"`, ""},
		"stage beside its own data": {"apply", []string{"apply.sh", "apply.yaml", "apply2.sh"}, 0, "ran", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			configMap := map[string]string{}
			for _, key := range test.keys {
				configMap[key] = script
			}
			r := run(t, test.hook, configMap)
			if r.Code != test.code || !strings.Contains(r.Stdout, test.stdout) || !strings.Contains(r.Stderr, test.stderr) || (test.stderr == "") != (r.Stderr == "") {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestStrictRefusesACheckAlone(t *testing.T) {
	for _, hook := range []string{"apply", "upgrade", "config", "uninstall"} {
		configMap := map[string]string{hook + "_check.sh": "echo ran"}
		if r := run(t, hook, configMap, strict...); r.Code != 1 || !strings.Contains(r.Stderr, `but no "`+hook+`.sh"; add "`+hook+`.sh", or remove the check`) {
			t.Errorf("%s: %+v", hook, r)
		}
		if r := run(t, hook+"_check", configMap, strict...); r.Code != 0 || r.Stdout != "ran\n" {
			t.Errorf("its check: %+v", r)
		}
	}
	configMap := map[string]string{"post_interrupt_check.sh": ""}
	if r := run(t, "post_interrupt", configMap, strict...); r.Code != 0 || strings.Contains(r.Stdout, "warning") {
		t.Errorf("after an interrupt: %+v", r)
	}
}

func TestMisspeltKeysAreRefused(t *testing.T) {
	tests := map[string]string{
		"config.yaml": "config.sh", "config_check.yaml": "config_check.sh", "apply-check.sh": "apply_check.sh",
		"aply.sh": "apply.sh", "applly.sh": "apply.sh", "apply.bash": "apply.sh", "Apply.sh": "apply.sh", "apply.SH": "apply.sh",
		"aplpy.sh": "apply.sh", "apply": "apply.sh", "apply_check": "apply_check.sh", "applycheck.sh": "apply_check.sh",
		"apply.check.sh": "apply_check.sh", "uninstall-check.yml": "uninstall_check.sh", "unistall.sh": "uninstall.sh",
		"post-interrupt.sh": "post_interrupt.sh", "postinterrupt_check.sh": "post_interrupt_check.sh", "confg.sh": "config.sh",
		"upgrade-check.sh": "upgrade_check.sh", "updgrade.sh": "upgrade.sh", "post_interupt.sh": "post_interrupt.sh",
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) {
			r := run(t, "apply", map[string]string{key: "#!/bin/bash\necho ran"})
			if r.Code != 1 || !strings.Contains(r.Stderr, `the configMap key "`+key+`" does nothing`) || !strings.Contains(r.Stderr, `name it "`+want+`"`) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestPlainDataIsAllowed(t *testing.T) {
	data := []string{
		"config.toml", "config.json", "config", "config.conf", "sysctl.conf", "settings.yaml", "install.sh", "lib.sh", "run.sh",
		"apply.txt", "apply.py", "check.sh", "configure.sh", "pre_apply.sh", "apply_all.sh", "README", "cleanup.sh", "a b", "*",
	}
	configMap := map[string]string{"apply.sh": "#!/bin/bash\necho ran"}
	for _, key := range data {
		configMap[key] = "data"
	}
	for _, hook := range hooks {
		if r := run(t, hook, configMap); r.Code != 0 {
			t.Errorf("%s: %+v", hook, r)
		}
	}
}

// TestKeysInUseAreNotMisspelt: what looks like a hook may be another script's
// data, which is no mistake.
func TestKeysInUseAreNotMisspelt(t *testing.T) {
	tests := map[string]struct {
		key, script string
		code        int
	}{
		"data":                {"config.yaml", "cat $SKYHOOK_DIR/configmaps/config.yaml", 0},
		"data of its stage":   {"upgrade.yaml", "cd ${SKYHOOK_DIR}/configmaps; cat upgrade.yaml", 0},
		"script":              {"config1.sh", `. "$SKYHOOK_DIR"/configmaps/config1.sh`, 0},
		"pattern":             {"config1.sh", "for f in $SKYHOOK_DIR/configmaps/*.sh; do cat $f; done", 0},
		"pattern in quotes":   {"config.yaml", `cat "${SKYHOOK_DIR}/configmaps/"*.yaml`, 0},
		"name from elsewhere": {"config.yaml", "name=config\ncat \"${SKYHOOK_DIR}/configmaps/${name}.yaml\"", 0},
		"folder":              {"config.yaml", `ls "${SKYHOOK_DIR}/configmaps"`, 0},
		"folder, piped":       {"config.yaml", `ls ${SKYHOOK_DIR}/configmaps|cat`, 0},
		"other data":          {"config.yaml", `cat "${SKYHOOK_DIR}/configmaps/data.txt" "$HOME"/.* || true`, 1},
		"nothing":             {"config.yaml", "true", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			configMap := map[string]string{"apply.sh": test.script, test.key: "true", "data.txt": "data"}
			for _, hook := range []string{"apply", "config", "upgrade"} {
				if r := run(t, hook, configMap); r.Code != test.code {
					t.Errorf("%s: %+v", hook, r)
				}
			}
		})
	}
	if r := run(t, "apply", map[string]string{"aply.sh": "cat $SKYHOOK_DIR/configmaps/* aply.sh", "config.sh": "true"}); r.Code != 1 {
		t.Errorf("used by itself: %+v", r)
	}
}

func TestScriptsThatNothingRuns(t *testing.T) {
	warning := func(key string) string {
		return `shellscript: warning: nothing runs it: the configMap key "` + key + `" is not named like a stage, and no other key mentions it` + "\n"
	}
	tests := map[string]struct {
		configMap map[string]string
		stdout    string
	}{
		"not mentioned":       {map[string]string{"install.sh": "true"}, warning("install.sh") + "ran\n"},
		"mentioned by itself": {map[string]string{"install.sh": "echo install.sh"}, warning("install.sh") + "ran\n"},
		"mentioned by data":   {map[string]string{"install.sh": "true", "list.txt": "install.sh"}, "ran\n"},
		"two":                 {map[string]string{"a.sh": "true", "b.sh": "true"}, warning("a.sh") + warning("b.sh") + "ran\n"},
		"one of two":          {map[string]string{"a.sh": "true", "b.sh": ". a.sh"}, warning("b.sh") + "ran\n"},
		"like a pattern":      {map[string]string{"a.sh": "true", "upgrade.sh": "echo axsh"}, warning("a.sh") + "ran\n"},
		"a dash":              {map[string]string{"-a.sh": "true"}, warning("-a.sh") + "ran\n"},
		"run by another hook": {map[string]string{"a.sh": "true", "uninstall.sh": `bash "$SKYHOOK_DIR/configmaps/a.sh"`}, "ran\n"},
		"run by a script":     {map[string]string{"a.sh": "true", "b.sh": ". a.sh", "config_check.sh": ". b.sh", "config.sh": "echo ran"}, "ran\n"},
		"no script":           {map[string]string{"a.py": "true", "b.bash": "true", "sh": "true"}, "ran\n"},
		"all hooks":           {map[string]string{"upgrade.sh": "true", "upgrade_check.sh": "true", "uninstall.sh": "true"}, "ran\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, hook := range []string{"apply", "config", "post_interrupt"} {
				configMap := maps.Clone(test.configMap)
				configMap[hook+".sh"] = "#!/bin/bash\necho ran"
				want := test.stdout
				if hook == "post_interrupt" {
					want = "ran\n" // said once is enough
				}
				if r := run(t, hook, configMap); r.Code != 0 || r.Stdout != want || r.Stderr != "" {
					t.Errorf("%s: %+v", hook, r)
				}
			}
		})
	}
}

func TestEveryMisspeltKeyIsNamed(t *testing.T) {
	r := run(t, "config", map[string]string{"aply.sh": "", "config_check.yaml": "", "config.sh": "echo ran"})
	if r.Code != 1 || strings.Count(r.Stderr, "does nothing") != 2 || strings.Contains(r.Stdout, "ran") {
		t.Errorf("got %+v", r)
	}
}

// TestUninstallIsNotBlockedByOtherMistakes: else a package could not be
// removed because of the mistake it is removed for.
func TestUninstallIsNotBlockedByOtherMistakes(t *testing.T) {
	configMap := map[string]string{"config.yaml": "", "aply.sh": "", "config_check.sh": "", "uninstall.sh": "echo removed"}
	for _, hook := range []string{"uninstall", "uninstall_check"} {
		if r := run(t, hook, configMap); r.Code != 0 {
			t.Errorf("%s: %+v", hook, r)
		}
	}
	if r := run(t, "uninstall", map[string]string{"uninstal.sh": ""}); r.Code != 1 {
		t.Errorf("its own mistake: %+v", r)
	}
}

func TestSignalsReachTheScript(t *testing.T) {
	r := run(t, "apply", map[string]string{"apply.sh": "#!/bin/bash\ntrap 'echo cleaned; exit 9' TERM\nkill -TERM $$\nsleep 60"})
	if r.Code != 9 || r.Stdout != "cleaned\n" {
		t.Errorf("got %+v", r)
	}
}

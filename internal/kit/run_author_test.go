//go:build integration

package kit_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRunNamesThePackageAsASkyhookCan: the agent takes a resource id apart at its underscores, and so do packages.
func TestRunNamesThePackageAsASkyhookCan(t *testing.T) {
	r := newTrial(t)
	r.Config["package_name"] = "nvidia_setup"
	r.stage("apply", `echo "$SKYHOOK_RESOURCE_ID" "${SKYHOOK_DIR##*/}" > /etc/seen`)
	const id = "00000000-0000-4000-8000-000000000000-1"
	report := r.pass("apply")
	r.ExpectLines("/etc/seen", "tryout-"+id+"_nvidia-setup_1.0.0 nvidia-setup-1.0.0-"+id)
	if report.Package != "nvidia_setup" || report.Name != "nvidia-setup" {
		t.Errorf("got %s and %s", report.Package, report.Name)
	}
	if ran := r.run(r.arguments("apply")...); !strings.Contains(ran.Stdout, "\nnvidia_setup 1.0.0, in a Skyhook nvidia-setup\n") {
		t.Errorf("got %s", ran.Stdout)
	}
}

// TestRunAfterAnEdit: with another configMap or env the Skyhook has another generation, and the package a fresh copy.
func TestRunAfterAnEdit(t *testing.T) {
	for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
		r.put("one", "1")
		r.stage("config", `ls configmaps >> /etc/seen; echo "${SKYHOOK_DIR##*-}" >> /etc/seen; touch configmaps/made`)
		r.stage("config-check", "[ -e configmaps/made ]")
		both := []string{"--configmap", "a=" + r.file("one"), "--configmap", "b=" + r.file("one")}
		r.pass("config", both...)
		r.pass("config", both...)
		r.pass("config", both[:2]...)
		report := r.pass("config", append(both[:2:2], "--env", "X=1")...)
		if r.overlay != "" {
			r.Root = report.Kept
		}
		r.ExpectLines("/etc/seen", "a", "b", "1", "a", "b", "made", "1", "a", "2", "a", "3")
	}
}

// TestRunWithSystemctl: services cannot be started in a trial, but what is done to files beside it is; and that a
// question was not answered is said.
func TestRunWithSystemctl(t *testing.T) {
	for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
		r.Write("/usr/bin/systemctl", `#!/bin/bash
for word; do [ "$word" != --now ] || { echo "System has not been booted with systemd" >&2; exit 1; }; done
case $1 in
enable) echo "$*" >> /etc/enabled ;;
*) echo "Running in chroot, ignoring command '$1'" >&2 ;;
esac
`)
		r.Must(os.Chmod(r.Path("/usr/bin/systemctl"), 0o755))
		r.stage("config", "systemctl enable --now 'a b' --quiet --now && systemctl start a")
		r.stage("config-check", "systemctl is-active a")
		report := r.pass("config")
		if !slices.Equal(report.Ignored, []string{"is-active", "start"}) {
			t.Errorf("ignored are %q", report.Ignored)
		}
		ran := r.run(r.arguments("config")...)
		for _, word := range []string{
			"a trial has no services: systemctl leaves out --now",
			"\nnot tried: systemctl is-active, start; a trial has no services, so",
		} {
			if !strings.Contains(ran.Stdout+ran.Stderr, word) {
				t.Errorf("no %q in\n%s%s", word, ran.Stdout, ran.Stderr)
			}
		}
		if r.overlay != "" {
			r.Root = report.Kept
		}
	}
}

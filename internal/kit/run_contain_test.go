//go:build integration

package kit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// idioms are ways in which published scripts leave their container for the host; each is to make the file $1.
var idioms = []string{
	`nsenter -t 1 -m -- bash -c "echo x > $1"`,
	`nsenter --target 1 --mount --uts --ipc --net --pid -- bash -c "echo x > $1"`,
	`nsenter -a -t 1 -- bash -c "echo x > $1"`,
	`nsenter --mount=/proc/1/ns/mnt -- ln -s /etc/hostname $1`,
	`chroot /proc/1/root bash -c "echo x > $1"`,
	`echo x > /proc/1/root$1`,
	`cp /etc/origin /proc/1/root$1`,
	`mkdir -p /host && mount --rbind / /host && chroot /host bash -c "echo x > $1"`,
}

// TestRunContainsTheIdioms: what they write is in the trial, and reported, whatever its root is.
func TestRunContainsTheIdioms(t *testing.T) {
	onMachine := func(t *testing.T) *trial {
		r := newOverlayTrial(t)
		r.Root = "/"
		return r
	}
	for name, newOne := range map[string]func(t *testing.T) *trial{"a folder": newTrial, "an overlay": newOverlayTrial, "an overlay on the machine": onMachine} {
		t.Run(name, func(t *testing.T) {
			r := newOne(t)
			mark := fmt.Sprintf("/etc/skyhook-trial-%d-", os.Getpid())
			t.Cleanup(func() {
				escaped, _ := filepath.Glob(mark + "*")
				for _, file := range escaped {
					t.Errorf("%s is on the machine", file)
					_ = os.Remove(file)
				}
			})
			var script strings.Builder
			script.WriteString("set -e\necho x > /etc/origin\n")
			var want []string
			for i, idiom := range idioms {
				file := fmt.Sprintf("%s%d", mark, i)
				script.WriteString(strings.ReplaceAll(idiom, "$1", file) + "\n")
				want = append(want, "created "+file)
			}
			r.stage("apply", script.String())
			report := r.pass("apply")
			changes := listed(report.Changes)
			for _, line := range want {
				if !slices.Contains(changes, line) {
					t.Errorf("no %q in %q", line, changes)
				}
			}
		})
	}
}

// TestRunCannotReachTheKernel: what namespaces do not contain takes a capability that steps do not have.
func TestRunCannotReachTheKernel(t *testing.T) {
	r := newTrial(t)
	r.stage("apply", `[ $(( 0x$(sed -n 's/^CapEff:\t//p' /proc/self/status) >> 16 & 1 )) = 0 ] || echo modules
[ $(( 0x$(sed -n 's/^CapEff:\t//p' /proc/self/status) >> 27 & 1 )) = 0 ] || echo devices
[ $(( 0x$(sed -n 's/^CapEff:\t//p' /proc/self/status) >> 21 & 1 )) = 1 ] || echo no mounts`)
	r.save()
	if ran := r.run(r.arguments("apply")...); ran.Code != 0 || strings.Contains(ran.Stdout, "modules\n") || strings.Contains(ran.Stdout, "devices\n") || strings.Contains(ran.Stdout, "no mounts\n") {
		t.Errorf("exit %d\n%s%s", ran.Code, ran.Stdout, ran.Stderr)
	}
}

// TestRunRefusesWhatItCannotContain before anything runs.
func TestRunRefusesWhatItCannotContain(t *testing.T) {
	r := newTrial(t)
	before := r.snapshot()
	r.stage("apply", "touch /etc/began\nmount -t devtmpfs dev /mnt")
	r.save()
	ran := r.run(r.arguments("apply")...)
	const want = "line 3 of skyhook_dir/apply.sh mounts a file system of the kernel, which a trial cannot keep off this machine, so it does not begin"
	if ran.Code != 1 || !strings.Contains(ran.Stderr, want) {
		t.Errorf("exit %d\n%s%s", ran.Code, ran.Stdout, ran.Stderr)
	}
	r.expectUntouched(before)
	r.Must(os.Remove(r.Path("/proc")))
	r.stage("apply", "true")
	r.save()
	if ran := r.run(r.arguments("apply")...); ran.Code != 1 || !strings.Contains(ran.Stderr, "has no folder proc, without which") {
		t.Errorf("exit %d\n%s%s", ran.Code, ran.Stdout, ran.Stderr)
	}
}

// TestRunWithKernelSettings: they can be set and read again, are reported, and stay as they are on the machine.
func TestRunWithKernelSettings(t *testing.T) {
	const swappiness, ranges = "/proc/sys/vm/swappiness", "/proc/sys/net/ipv4/ip_local_port_range"
	before, err := os.ReadFile(swappiness)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
		r.stage("apply", `set -e
mkdir -p /etc/sysctl.d
printf 'vm.swappiness = 7\nnet.ipv4.ip_local_port_range = 20000 30000\n' > /etc/sysctl.d/probe.conf
sysctl -p /etc/sysctl.d/probe.conf
sysctl -w vm.swappiness=9`)
		r.stage("apply-check", `[ "$(sysctl -n vm.swappiness)" = 9 ] && [ "$(cat `+ranges+`)" = "20000 30000" ]`)
		report := r.pass("apply")
		changes := listed(report.Changes)
		for _, path := range []string{swappiness, ranges} {
			if !slices.Contains(changes, "changed "+path+" value") {
				t.Errorf("no change of %s in %q", path, changes)
			}
		}
		last := report.Changes[len(report.Changes)-1]
		if last.Path != swappiness || last.Is.Value != "9" || last.Was.Value != strings.TrimSpace(string(before)) {
			t.Errorf("the last change is %+v", last)
		}
	}
	if after, err := os.ReadFile(swappiness); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the machine has %q, %v; had %q", after, err, before)
	}
}

// TestRunReplacesSystemctl as dpkg does when it upgrades systemd: the new file is renamed over the old one.
func TestRunReplacesSystemctl(t *testing.T) {
	for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
		r.Write("/usr/bin/systemctl", "#!/bin/bash\necho old\n")
		r.Must(os.Chmod(r.Path("/usr/bin/systemctl"), 0o755))
		r.stage("apply", `set -e
[ "$(systemctl daemon-reload)" = old ] && [ "$SYSTEMD_OFFLINE" = 1 ]
printf '#!/bin/bash\necho "new $*"\n' > /usr/bin/systemctl.dpkg-new
chmod 755 /usr/bin/systemctl.dpkg-new
mv -f /usr/bin/systemctl.dpkg-new /usr/bin/systemctl
[ "$(systemctl enable --now a 2> /dev/null)" = "new enable a" ]`)
		report := r.pass("apply")
		if changes := listed(report.Changes); !slices.Contains(changes, "changed /usr/bin/systemctl content") {
			t.Errorf("changes are %q", changes)
		}
	}
}

// TestRunSaysWhenItIsTheCause, where a step failed with what hosts do not say.
func TestRunSaysWhenItIsTheCause(t *testing.T) {
	r := newTrial(t)
	r.stage("apply", "chmod 600 /dev/null")
	report, ran := r.try("apply")
	if len(report.MayBeTheTrial) != 1 || !strings.Contains(report.MayBeTheTrial[0], "/dev and parts of /proc are read-only") {
		t.Errorf("%q\n%s", report.MayBeTheTrial, ran.Stderr)
	}
	const said = "the trial may be the cause of the failure: /sys, /dev"
	if ran := r.run(r.arguments("apply")...); ran.Code != 1 || !strings.Contains(ran.Stdout, said) {
		t.Errorf("exit %d\n%s", ran.Code, ran.Stdout)
	}
	for name, body := range map[string]string{"another cause": "echo no such file >&2; exit 1", "success": "chmod 600 /dev/null || true"} {
		r.stage("apply", body)
		if report, _ := r.try("apply"); len(report.MayBeTheTrial) != 0 {
			t.Errorf("%s: %q", name, report.MayBeTheTrial)
		}
	}
}

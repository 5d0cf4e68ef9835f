//go:build integration

package agent_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// changing are the folders of a host that the agent writes to.
var changing = []string{"/etc", "/var", "/opt"}

// clock matches the times in flags, histories and interrupt flags.
var clock = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[\d:.]+|\d{10}\.\d{6}`)

// state reads what the agent has written, apart from logs and times.
func (h *host) state() map[string]string {
	h.T.Helper()
	found := h.Snapshot(changing...)
	for name, what := range found {
		if strings.HasPrefix(name, "/var/log/") {
			delete(found, name)
		} else {
			found[name] = clock.ReplaceAllString(what, "TIME")
		}
	}
	return found
}

// save keeps the host as it is now; restore brings it back.
func (h *host) save() (restore func()) {
	h.T.Helper()
	kept := h.T.TempDir()
	copyAll := func(from, to string) {
		h.T.Helper()
		for _, dir := range changing {
			h.Must(os.RemoveAll(filepath.Join(to, dir)))
			if out, err := exec.Command("cp", "-a", filepath.Join(from, dir), to).CombinedOutput(); err != nil {
				h.T.Fatalf("%v: %s", err, out)
			}
		}
	}
	copyAll(h.Root, kept)
	return func() { copyAll(kept, h.Root) }
}

// killAt runs the agent until it kills itself at its nth change of the host,
// and reports whether it came to that.
func (h *host) killAt(n int, args ...string) bool {
	h.T.Helper()
	cmd := h.command(args...)
	cmd.Path = faultyBinary
	cmd.Env = append(cmd.Env, "SKYHOOK_FAULT_AT="+strconv.Itoa(n))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		h.T.Fatalf("change %d: %v\n%s", n, err, out)
	}
	return true
}

// killedAtEveryChange runs a mode once undisturbed, and then as often as it
// changes something on the host: killed there, and once more. Each time the
// host must end up the same.
func (h *host) killedAtEveryChange(args ...string) (changes int) {
	h.T.Helper()
	restore := h.save()
	if r := h.runArgs(args...); r.Code != 0 {
		h.T.Fatalf("%q: exit %d\n%s", args, r.Code, r.Stderr)
	}
	want := h.state()
	for n := 1; ; n++ {
		restore()
		if !h.killAt(n, args...) {
			return n - 1
		}
		if r := h.runArgs(args...); r.Code != 0 {
			h.T.Fatalf("%q after a kill at change %d: exit %d\n%s", args, n, r.Code, r.Stderr)
		}
		if got := h.state(); !maps.Equal(got, want) {
			h.T.Errorf("%q after a kill at change %d: %s", args, n, difference(got, want))
		}
	}
}

func difference(got, want map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			lines = append(lines, "\n  "+name+": is "+strconv.Quote(got[name])+", want "+strconv.Quote(want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, wanted := want[name]; !wanted {
			lines = append(lines, "\n  "+name+" is left: "+strconv.Quote(got[name]))
		}
	}
	return strings.Join(lines, "")
}

// newCrashHost has a package with everything that makes the agent write.
func newCrashHost(t *testing.T) (h *host, dir string) {
	t.Helper()
	h = newHost(t)
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-2_tuning_1.1.0"
	h.Must(os.MkdirAll(h.Path("/opt"), 0o755))
	h.Write("/etc/motd", "the host's")
	for _, mode := range []string{"apply", "config", "upgrade", "uninstall"} {
		// A step may need what the package ships, at the end as at the start.
		h.define(mode, h.Script("a.sh", "cat /etc/tool/conf >/opt/$1", mode), h.Script("b.sh", ""))
		h.define(mode+"-check", h.Script("c.sh", "cat /etc/tool/conf"))
	}
	h.Write(copyDir+"/root_dir/etc/motd", "the package's")
	h.Write(copyDir+"/root_dir/etc/tool/conf", "conf")
	h.Must(os.Symlink("conf", h.Path(copyDir, "root_dir/etc/tool/link")))
	h.Save()
	dir = filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-2")
	h.copyTree(copyDir, dir)
	h.copyTree(copyDir, filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-1"))
	return h, dir
}

// TestKilledAtEveryChange: kill -9 just before or after any change of the host
// leaves a state from which the next run ends as an undisturbed one does.
func TestKilledAtEveryChange(t *testing.T) {
	h, dir := newCrashHost(t)
	run := func(mode string) {
		t.Helper()
		if r := h.runArgs(mode, h.Root, dir); r.Code != 0 {
			t.Fatalf("%s: exit %d\n%s", mode, r.Code, r.Stderr)
		}
	}
	total := 0
	for _, mode := range []string{"apply", "apply-check", "config", "config-check", "upgrade", "upgrade-check", "uninstall", "uninstall-check"} {
		if mode == "upgrade" {
			// The next version drops a file and brings another.
			h.Must(os.Remove(h.Path(dir, "root_dir/etc/motd")))
			h.Write(dir+"/root_dir/etc/tool/more", "more")
		}
		changes := h.killedAtEveryChange(mode, h.Root, dir)
		if changes < 4 {
			t.Errorf("%s: only %d changes", mode, changes)
		}
		total += changes
		// The last restored state is the one before the mode.
		run(mode)
	}
	if h.Read("/etc/motd") != "the host's" || h.Has("/etc/tool") || len(h.find(stateDir+"/packages/tuning/*")) != 1 {
		t.Errorf("after uninstall: %v", slices.Sorted(maps.Keys(h.state())))
	}
	t.Logf("killed at %d changes", total)
}

func TestKilledAtEveryChangeOfAnInterrupt(t *testing.T) {
	for _, request := range []string{`{"type":"no_op"}`, `{"type":"service_restart","services":["a","b"]}`} {
		h := newInterruptHost(t)
		h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-2_tuning_1.1.0"
		h.Must(os.MkdirAll(h.Path("/opt"), 0o755))
		h.Write(stateDir+"/interrupts/flags/demo-"+uid+"-1_tuning_1.1.0/no_op.complete", "1700000000.000000")
		if changes := h.killedAtEveryChange(h.interruptArgs(request)...); changes < 4 {
			t.Errorf("%s: only %d changes", request, changes)
		}
	}
}

// TestKilledWhileThePackageIsCopied covers agents that bring the package along.
func TestKilledWhileThePackageIsCopied(t *testing.T) {
	h, dir := newCrashHost(t)
	h.Env["SKYHOOK_DATA_DIR"] = filepath.Join(t.TempDir(), "data")
	h.Must(os.Rename(h.Path(dir), h.Env["SKYHOOK_DATA_DIR"]))
	if changes := h.killedAtEveryChange("apply", h.Root, dir); changes < 20 {
		t.Errorf("only %d changes", changes)
	}
}

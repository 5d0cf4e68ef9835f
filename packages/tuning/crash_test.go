package tuning_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// crash runs a mode and kills it right before its n-th change of the host. It
// reports whether there was one.
func (h *host) crash(mode string, n int) bool {
	h.t.Helper()
	h.must(hostroot.CopyFile(filepath.Join("testdata", "crash.sh"), h.path("/crash.sh")))
	h.write("/run/changes", "0\n")
	h.env["BASH_ENV"], h.env["CRASH_AT"] = "/crash.sh", strconv.Itoa(n)
	r := h.run(mode)
	delete(h.env, "BASH_ENV")
	if r.code == 0 {
		return false
	}
	if r.code != -1 {
		h.t.Fatalf("%s was not killed, but exited %d\n%s", mode, r.code, r.stderr)
	}
	return true
}

// testCrashes installs, changes and removes the package, is killed in the
// middle of each of them, and must end right with the next run. The moment is a
// later one in each round, until there is none left.
func testCrashes(t *testing.T, h *host, first, second map[string]string, atLeast int) {
	t.Parallel()
	pristine := h.snapshot(watched...)
	h.configure(first)
	installed := h.snapshot(watched...)
	h.configure(second)
	changed := h.snapshot(watched...)
	h.uninstall()

	rounds := 0
	for crashed := true; crashed && !t.Failed(); rounds++ {
		h.configMap(first)
		crashed = h.crash("config", rounds+1)
		if rounds%2 == 1 { // a package may be removed because it does not get through
			h.uninstall()
			h.expectSnapshot(pristine, watched...)
		}
		h.succeed("config")
		h.expectSnapshot(installed, watched...)
		h.configMap(second)
		crashed = h.crash("config", rounds+1) || crashed
		h.succeed("config", "config-check")
		h.expectSnapshot(changed, watched...)
		crashed = h.crash("uninstall", rounds+1) || crashed
		h.uninstall()
		h.expectSnapshot(pristine, watched...)
	}
	if t.Failed() || rounds <= atLeast {
		t.Errorf("%d rounds", rounds)
	}
}

func TestCrashAtAnyMoment(t *testing.T) {
	t.Run("everything", func(t *testing.T) {
		testCrashes(t, newDebian(t), everything, everythingElse, 20)
	})
	t.Run("grubby", func(t *testing.T) {
		testCrashes(t, newRHEL(t), map[string]string{"grub.conf": "hugepages=4\nnosmt\n"}, map[string]string{"grub.conf": "hugepagesz=1G\nhugepages=8\nconsole=a\nconsole=b"}, 5)
	})
}

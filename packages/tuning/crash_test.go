//go:build integration

package tuning_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// crash runs a mode and kills it right before its n-th change of the host. It
// reports whether there was one.
func (h *host) crash(mode string, n int) bool {
	h.T.Helper()
	h.Must(hostroot.CopyFile(filepath.Join("testdata", "crash.sh"), h.Path("/crash.sh")))
	h.Write("/run/changes", "0\n")
	h.Env["BASH_ENV"], h.Env["CRASH_AT"] = "/crash.sh", strconv.Itoa(n)
	r := h.run(mode)
	delete(h.Env, "BASH_ENV")
	if r.Code == 0 {
		return false
	}
	if r.Code != -1 {
		h.T.Fatalf("%s was not killed, but exited %d\n%s", mode, r.Code, r.Stderr)
	}
	return true
}

// testCrashes installs, changes and removes the package, is killed in the
// middle of each of them, and must end right with the next run. The moment is a
// later one in each round, until there is none left; hosts take turns in them.
// Every moment is tried each night, every seventh of a host's for each change.
func testCrashes(t *testing.T, newHost func(testing.TB) *host, first, second map[string]string, atLeast int) {
	const hosts = 2
	for start := range hosts {
		t.Run(fmt.Sprintf("from %d", start+1), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			pristine := h.Snapshot(watched...)
			h.configure(first)
			installed := h.Snapshot(watched...)
			h.configure(second)
			changed := h.Snapshot(watched...)
			h.uninstall()

			moment := start + 1
			for crashed := true; crashed && !t.Failed(); moment += hosts * step {
				h.configMap(first)
				crashed = h.crash("config", moment)
				if moment/hosts%2 == 1 { // a package may be removed because it does not get through
					h.succeed("uninstall")
					h.ExpectSnapshot(pristine, watched...)
				}
				h.succeed("config")
				h.ExpectSnapshot(installed, watched...)
				h.configMap(second)
				crashed = h.crash("config", moment) || crashed
				h.succeed("config")
				h.ExpectSnapshot(changed, watched...)
				crashed = h.crash("uninstall", moment) || crashed
				h.uninstall()
				h.ExpectSnapshot(pristine, watched...)
			}
			if t.Failed() || moment <= atLeast {
				t.Errorf("until the change %d", moment)
			}
		})
	}
}

func TestCrashAtAnyMoment(t *testing.T) {
	t.Parallel()
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		testCrashes(t, newDebian, everything, everythingElse, 20)
	})
	t.Run("grubby", func(t *testing.T) {
		t.Parallel()
		second := map[string]string{"grub.conf": "hugepagesz=1G\nhugepages=8\nconsole=a\nconsole=b"}
		testCrashes(t, newRHEL, map[string]string{"grub.conf": "hugepages=4\nnosmt\n"}, second, 5)
	})
}

//go:build integration

package agent_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// newSmallHost has a disk of its own for the state, that steps can fill.
func newSmallHost(t *testing.T, limit string) *host {
	h := newHost(t)
	h.Must(os.MkdirAll(h.Path(stateDir), 0o755))
	h.Must(syscall.Mount("test", h.Path(stateDir), "tmpfs", 0, limit))
	t.Cleanup(func() { _ = syscall.Unmount(h.Path(stateDir), syscall.MNT_DETACH) })
	return h
}

const smallDisk = "size=256k"

// fills are the ways in which a disk can be full, by what limits it.
var fills = map[string]string{
	smallDisk:       "seq 1 999999 2>/dev/null >" + stateDir + "/fill",
	"nr_inodes=100": "for i in {1..100}; do : 2>/dev/null >" + stateDir + "/fill$i; done",
}

// TestStepThatFillsTheDiskIsNotRepeated: room for its flag is taken before.
func TestStepThatFillsTheDiskIsNotRepeated(t *testing.T) {
	for limit, fill := range fills {
		t.Run(limit, func(t *testing.T) {
			h := newSmallHost(t, limit)
			h.define("apply", h.Script("a.sh", "echo a >>/ran; "+fill+"; exit 0"))
			h.succeed("apply")
			h.succeed("apply")
			h.ExpectLines("/ran", "a")
			if flag := h.Read(flagsDir, "a.sh"+flagNoArgs); !strings.Contains(flag, "last_run: ") || !strings.Contains(flag, "package: tuning ") {
				t.Errorf("flag %q", flag)
			}
			if left := h.find(stateDir + "/packages/tuning/flag"); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestStepIsNotRunWithoutRoomForItsFlag, as it would run twice.
func TestStepIsNotRunWithoutRoomForItsFlag(t *testing.T) {
	h := newSmallHost(t, smallDisk)
	h.define("apply", h.Script("a.sh", "echo a >>/ran"))
	h.Save()
	h.Write(stateDir+"/flags/START", "")
	_ = os.WriteFile(h.Path(stateDir, "fill"), make([]byte, 1<<20), 0o644)
	h.fail("apply", "step a.sh was not run: there is no room to note that it is done", "free space in "+stateDir)
	h.Must(os.Remove(h.Path(stateDir, "fill")))
	h.succeed("apply")
	h.ExpectLines("/ran", "a")
}

// TestStepThatMayRunAgainNeedsNoRoom: it may be what makes some.
func TestStepThatMayRunAgainNeedsNoRoom(t *testing.T) {
	h := newSmallHost(t, smallDisk)
	h.define("apply", h.Script("a.sh", "echo a >>/ran; rm "+stateDir+"/fill").With("idempotence", true))
	h.Save()
	h.Write(stateDir+"/flags/START", "")
	_ = os.WriteFile(h.Path(stateDir, "fill"), make([]byte, 1<<20), 0o644)
	h.succeed("apply")
	h.ExpectLines("/ran", "a")
}

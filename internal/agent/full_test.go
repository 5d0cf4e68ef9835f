package agent_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// newSmallHost has a disk of its own for the state, that steps can fill.
func newSmallHost(t *testing.T) *host {
	h := newHost(t)
	h.must(os.MkdirAll(h.path(stateDir), 0o755))
	h.must(syscall.Mount("test", h.path(stateDir), "tmpfs", 0, "size=256k"))
	t.Cleanup(func() { _ = syscall.Unmount(h.path(stateDir), syscall.MNT_DETACH) })
	return h
}

const fill = "seq 1 999999 2>/dev/null >" + stateDir + "/fill"

// TestStepThatFillsTheDiskIsNotRepeated: room for its flag is taken before.
func TestStepThatFillsTheDiskIsNotRepeated(t *testing.T) {
	h := newSmallHost(t)
	h.define("apply", h.script("a.sh", "echo a >>/ran; "+fill+"; exit 0"))
	h.succeed("apply")
	h.succeed("apply")
	h.expectLines("/ran", "a")
	if flag := h.read(flagsDir, "a.sh"+flagNoArgs); !strings.Contains(flag, "last_run: ") || !strings.Contains(flag, "package: tuning ") {
		t.Errorf("flag %q", flag)
	}
	if left := h.find(stateDir + "/packages/tuning/flag"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestStepIsNotRunWithoutRoomForItsFlag, as it would run twice.
func TestStepIsNotRunWithoutRoomForItsFlag(t *testing.T) {
	h := newSmallHost(t)
	h.define("apply", h.script("a.sh", "echo a >>/ran"))
	h.writeConfig()
	h.write(stateDir+"/flags/START", "")
	_ = os.WriteFile(h.path(stateDir, "fill"), make([]byte, 1<<20), 0o644)
	h.fail("apply", "step a.sh was not run: there is no room to note that it is done", "free space in "+stateDir)
	h.must(os.Remove(h.path(stateDir, "fill")))
	h.succeed("apply")
	h.expectLines("/ran", "a")
}

// TestStepThatMayRunAgainNeedsNoRoom: it may be what makes some.
func TestStepThatMayRunAgainNeedsNoRoom(t *testing.T) {
	h := newSmallHost(t)
	h.define("apply", h.script("a.sh", "echo a >>/ran; rm "+stateDir+"/fill").with("idempotence", true))
	h.writeConfig()
	h.write(stateDir+"/flags/START", "")
	_ = os.WriteFile(h.path(stateDir, "fill"), make([]byte, 1<<20), 0o644)
	h.succeed("apply")
	h.expectLines("/ran", "a")
}

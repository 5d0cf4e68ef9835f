package state

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// TestUninstalled: the mark counts for the copy that it was made from, and is
// what remains of the package's own state.
func TestUninstalled(t *testing.T) {
	pkg := newPackage("1.0.0")
	for _, name := range []string{"", "one"} {
		at := Dir{Path: t.TempDir(), Package: name, Copy: "copy-1"}
		later := at
		later.Copy = "copy-2"
		must(t, at.ForgetOwn(pkg, "kept"), at.RecordChecks(pkg, "apply-check", nil), at.MarkUninstalled(pkg))
		must(t, hostfs.WriteFile(filepath.Join(at.Own(pkg), "kept/file"), nil, 0o644), at.ForgetOwn(pkg, "kept"))
		if got := list(t, at.Own(pkg)); !slices.Equal(got, []string{"kept", "uninstalled"}) {
			t.Errorf("left %q", got)
		}
		if !at.IsUninstalled(pkg) || later.IsUninstalled(pkg) {
			t.Error("it counts for the wrong copy")
		}
		must(t, at.MarkInstalled(pkg))
		if at.IsUninstalled(pkg) {
			t.Error("the mark is left")
		}
	}
}

// TestReserve: the room becomes the flag where that cannot be written.
func TestReserve(t *testing.T) {
	pkg, step := newPackage("1.0.0"), script("run.sh")
	at := Dir{Path: t.TempDir(), Package: "one", Copy: "copy-1"}
	must(t, at.Reserve(pkg, step, false, noon))
	if at.IsDone(pkg, step) {
		t.Error("done before it ran")
	}
	must(t, useSpare(at.spare(pkg), at.Flag(pkg, step), flag{claims: []claim{{"one", "copy-1"}}}, nil))
	if !at.IsDone(pkg, step) || present(at.spare(pkg)) {
		t.Error("the room was not used")
	}
	must(t, at.Reserve(pkg, step, false, noon), at.SetDone(pkg, step, false, noon), at.Release(pkg), at.Release(pkg))
	if !at.IsDone(pkg, step) || present(at.spare(pkg)) {
		t.Error("the room was not given back")
	}
}

//go:build integration

package agent_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// newNoexecHost keeps packages where nothing can be started, as on
// Container-Optimized OS.
func newNoexecHost(t *testing.T) *host {
	h := newHost(t)
	h.Must(os.MkdirAll(h.Path(stateDir), 0o755))
	h.Must(syscall.Mount("test", h.Path(stateDir), "tmpfs", syscall.MS_NOEXEC, "size=16m"))
	t.Cleanup(func() { _ = syscall.Unmount(h.Path(stateDir), syscall.MNT_DETACH) })
	return h
}

// TestScriptOnAFileSystemMountedNoexec is run by its interpreter, as the kernel
// would do it.
func TestScriptOnAFileSystemMountedNoexec(t *testing.T) {
	h := newNoexecHost(t)
	a, b := h.Script("a.sh", "", "one", "two three"), h.Script("b.sh", "")
	h.Write(copyDir+"/skyhook_dir/a.sh", "#! /bin/bash -e \necho \"$0 $# $2\" >>/ran\nfalse\necho beyond >>/ran\n")
	h.Write(copyDir+"/skyhook_dir/b.sh", "#!/bin/bash\necho b >>/ran\n")
	h.define("apply", b, a)
	h.fail("apply", "step a.sh one two three exited 1")
	h.ExpectLines("/ran", "b", copyDir+"/skyhook_dir/a.sh 2 two three")
}

func TestProgramOnAFileSystemMountedNoexec(t *testing.T) {
	h := newNoexecHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.Must(os.Remove(h.Path(copyDir, "skyhook_dir/a.sh")))
	h.Must(hostroot.CopyFile(h.Path("/usr/bin/touch"), filepath.Join(h.Path(copyDir), "skyhook_dir/a.sh")))
	h.fail("apply", "step a.sh could not be started", "permission denied", "its file system is mounted noexec", "copyDirRoot")
}

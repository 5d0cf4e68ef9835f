package tryout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// enter makes the root folder that of this process and its namespace, which is
// process 1 to the steps: what published scripts do to leave their container,
// nsenter -t 1 or chroot /proc/1/root, leads back into the trial.
func (p *plan) enter() error {
	if p.Machine {
		return nil
	}
	const why = "a trial cannot be kept off this machine, so it does not begin: %w; run it in a virtual machine"
	if err := os.Chdir(p.Root); err != nil {
		return fmt.Errorf(why, err)
	}
	// The old root is put over the new one, and taken away again.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf(why, os.NewSyscallError("pivot_root", err))
	}
	if err := errors.Join(unix.Unmount(".", unix.MNT_DETACH), os.Chdir("/")); err != nil {
		return fmt.Errorf(why, err)
	}
	p.Root = "/"
	return dropCapabilities()
}

// reaching are the capabilities with which a script would change the machine in
// spite of namespaces and mounts: devices, modules, the boot, the clock, the
// network, the kernel's log, files by their handles, and what watches it all.
var reaching = []uintptr{
	unix.CAP_MKNOD, unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT, unix.CAP_SYS_TIME, unix.CAP_WAKE_ALARM,
	unix.CAP_NET_ADMIN, unix.CAP_SYSLOG, unix.CAP_DAC_READ_SEARCH, unix.CAP_AUDIT_CONTROL, unix.CAP_MAC_ADMIN,
	unix.CAP_MAC_OVERRIDE, unix.CAP_BLOCK_SUSPEND, unix.CAP_BPF, unix.CAP_PERFMON,
}

// dropCapabilities takes them from what this goroutine starts from now on: the
// kernel keeps the set for each thread.
func dropCapabilities() error {
	runtime.LockOSThread()
	for _, capability := range reaching {
		// Earlier kernels do not know them all.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err != nil && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("a trial cannot give up what reaches this machine, so it does not begin: %w", err)
		}
	}
	return nil
}

// mountRoot makes the root folder a mount, which it has to be to become the
// root of a namespace.
func (p plan) mountRoot() error {
	if _, err := os.Stat(filepath.Join(p.Root, "proc")); err != nil {
		return fmt.Errorf("%s has no folder proc, without which a trial cannot be kept off this machine; make it: "+
			"mkdir %[1]s/proc", p.Root)
	}
	if p.Overlay != nil {
		return nil
	}
	if err := syscall.Mount(p.Root, p.Root, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return explainMount("mount the root folder", err)
	}
	return nil
}

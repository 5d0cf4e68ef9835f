package tryout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mount makes the root folder look like a host's.
func (p plan) mount(warn func(format string, args ...any)) error {
	// Nothing that is mounted here may show on the machine.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return explainMount("make the mounts private", err)
	}
	if p.Overlay != nil {
		if err := p.Overlay.mount(); err != nil {
			return err
		}
	}
	if !p.Machine {
		if err := p.mountRoot(); err != nil {
			return err
		}
	}
	for _, f := range p.kernelFolders() {
		target := filepath.Join(p.Root, f.path)
		if info, err := os.Lstat(target); err != nil || !info.IsDir() {
			warn("%s has no folder %s: scripts that need it will fail", p.Root, f.path)
			continue
		}
		if err := f.mount(target); err != nil {
			return explainMount("mount "+f.path, err)
		}
	}
	return nil
}

// Options that older kernels and distributions set otherwise: without them
// every difference is a plain file in the upper folder.
const overlayOptions = "index=off,redirect_dir=off,metacopy=off"

func (o overlay) mount() error {
	for _, dir := range []string{o.Dir, o.Lower} {
		if strings.ContainsAny(dir, `,:\`) {
			return fmt.Errorf("mount the overlay: the path %s has a comma, colon or backslash, with which the kernel "+
				"cannot do it", dir)
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,%s", o.Lower, o.upper(), o.work(), overlayOptions)
	if err := syscall.Mount("overlay", o.mountPoint(), "overlay", 0, data); err != nil {
		if errors.Is(err, syscall.EINVAL) {
			err = fmt.Errorf("%w; the file system of %s may not be fit for it (name a folder on ext4 or xfs, or below "+
				"/dev/shm), or the root is on two overlays already", err, o.Dir)
		}
		return explainMount("mount the overlay", err)
	}
	return nil
}

func explainMount(what string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w; in a container this needs --privileged", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// kernelFolder is one of the folders that a host has from its kernel.
type kernelFolder struct {
	path  string
	mount func(target string) error
}

// kernelFolders are made so that a script cannot change the machine through
// them, unless the machine itself was asked for: then they are there.
func (p plan) kernelFolders() []kernelFolder {
	if p.Machine {
		return []kernelFolder{{"/proc", mountProcesses}}
	}
	return []kernelFolder{{"/proc", mountProc}, {"/sys", mountSys}, {"/dev", mountDev}}
}

// mountProcesses shows the processes of this namespace.
func mountProcesses(target string) error {
	return syscall.Mount("proc", target, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
}

// shared is what else /proc has: the machine's. Not every kernel has it all.
var shared = []string{"acpi", "bus", "fs", "irq", "mtrr", "scsi", "sysrq-trigger"}

func mountProc(target string) error {
	if err := mountProcesses(target); err != nil {
		return err
	}
	for _, name := range shared {
		path := filepath.Join(target, name)
		if err := bindReadOnly(path, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make %s read-only: %w", name, err)
		}
	}
	if err := mountSettings(filepath.Join(target, "sys")); err != nil {
		return fmt.Errorf("show a copy of the kernel's settings: %w", err)
	}
	return nil
}

func mountSys(target string) error { return bindReadOnly("/sys", target) }

// bindReadOnly shows a file or folder in another place, with all that is
// mounted below it, and nothing of it can be written there.
func bindReadOnly(source, target string) error {
	if err := syscall.Mount(source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// Before Linux 5.12 one mount at a time can be made read-only, so only the first is shown.
	if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
		return err
	}
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}

package tryout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	for _, m := range p.mounts() {
		info, err := os.Lstat(filepath.Join(p.Root, m.target))
		if err != nil || !info.IsDir() {
			if m.required {
				warn("%s has no folder %s: scripts that need it will fail", p.Root, m.target)
			}
			continue
		}
		if err := m.mount(p.Root); err != nil {
			return explainMount("mount "+m.target, err)
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
			return fmt.Errorf("mount the overlay: the path %s has a comma, colon or backslash, with which the kernel cannot do it", dir)
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,%s", o.Lower, o.upper(), o.work(), overlayOptions)
	if err := syscall.Mount("overlay", o.mountPoint(), "overlay", 0, data); err != nil {
		if errors.Is(err, syscall.EINVAL) {
			err = fmt.Errorf("%w; the file system of %s may not be fit for it (name a folder on ext4 or xfs, or below /dev/shm), or the root is on two overlays already", err, o.Dir)
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

// hostMount is one of the file systems that a host has beside its disk.
type hostMount struct {
	source string
	target string
	kind   string
	flags  uintptr
	// required folders are worth a warning if they are missing.
	required bool
}

// mounts are those of a host, made so that a script cannot change the machine
// through them, unless the machine itself was asked for: then they are there.
func (p plan) mounts() []hostMount {
	processes := hostMount{source: "proc", target: "/proc", kind: "proc", flags: syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, required: true}
	if p.Machine {
		return []hostMount{processes}
	}
	mounts := []hostMount{processes}
	for _, dir := range []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"} {
		mounts = append(mounts, hostMount{source: filepath.Join(p.Root, dir), target: dir, flags: syscall.MS_RDONLY})
	}
	for _, dir := range []string{"/sys", "/dev"} {
		mounts = append(mounts, hostMount{source: dir, target: dir, flags: syscall.MS_RDONLY, required: true})
	}
	return mounts
}

func (m hostMount) mount(root string) error {
	target := filepath.Join(root, m.target)
	if m.kind != "" {
		return syscall.Mount(m.source, target, m.kind, m.flags, "")
	}
	if err := syscall.Mount(m.source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	// A bind mount takes its flags only afterwards.
	return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|m.flags, "")
}

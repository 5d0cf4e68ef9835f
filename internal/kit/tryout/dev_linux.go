package tryout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// devices are those of the machine that harm nobody. Disks are not among them.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// deviceLinks are what programs expect beside the devices.
var deviceLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	"ptmx": "pts/ptmx",
}

// mountDev makes a /dev that is the trial's own. It cannot be written: a script
// that wants a disk shall fail, not fill a file by the disk's name.
func mountDev(target string) error {
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := syscall.Mount("dev", target, "tmpfs", flags, "mode=755"); err != nil {
		return err
	}
	for _, name := range devices {
		if err := showDevice(name, target); err != nil {
			return err
		}
	}
	for name, to := range deviceLinks {
		if err := os.Symlink(to, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	const options = "newinstance,ptmxmode=0666,mode=0620"
	if err := mountInDev(target, "pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, options); err != nil {
		return err
	}
	if err := mountInDev(target, "shm", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=1777"); err != nil {
		return err
	}
	if err := mountCommands(filepath.Dir(target), target); err != nil {
		return fmt.Errorf("put a systemctl for trials there: %w", err)
	}
	return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|flags, "")
}

// showDevice shows a device of the machine. It is not made anew, which
// containers may be denied; and read-only keeps its mode and owner.
func showDevice(name, dev string) error {
	target := filepath.Join(dev, name)
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		return err
	}
	err := bindReadOnly(filepath.Join("/dev", name), target)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(target)
	}
	return err
}

func mountInDev(dev, name, kind string, flags uintptr, options string) error {
	target := filepath.Join(dev, name)
	if err := os.Mkdir(target, 0o755); err != nil {
		return err
	}
	return syscall.Mount(name, target, kind, flags, options)
}

package tryout

import (
	"os"
	"path/filepath"
	"syscall"
)

// systemctlScript stands before the root's own systemctl, which in another root
// than systemd's leaves out what it cannot do, and says so, but fails for --now.
const systemctlScript = `#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
	if [ "$1" = --now ]; then
		echo "a trial has no services: systemctl leaves out --now" >&2
	else
		set -- "$@" "$1"
	fi
	shift
	n=$((n - 1))
done
exec /dev/.systemctl "$@"
`

// mountSystemctl hides the systemctl of the root, if there is one, behind the
// script. It is still to be found in dev, which is the trial's own.
func mountSystemctl(root, dev string) error {
	for _, place := range []string{"usr/bin/systemctl", "bin/systemctl"} {
		hidden := filepath.Join(root, place)
		if info, err := os.Lstat(hidden); err != nil || !info.Mode().IsRegular() {
			continue
		}
		moved, script := filepath.Join(dev, ".systemctl"), filepath.Join(dev, ".systemctl.sh")
		if err := os.WriteFile(moved, nil, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(script, []byte(systemctlScript), 0o600); err != nil {
			return err
		}
		if err := os.Chmod(script, 0o755); err != nil { // all may run it, as the one that it hides
			return err
		}
		if err := syscall.Mount(hidden, moved, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		if err := syscall.Mount(script, hidden, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		// Nothing in dev can be run, but this.
		const readOnly = syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY
		return syscall.Mount("", hidden, "", readOnly|syscall.MS_NOSUID|syscall.MS_NODEV, "")
	}
	return nil
}

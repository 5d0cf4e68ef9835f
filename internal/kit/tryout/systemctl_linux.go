package tryout

import (
	"os"
	"path/filepath"
	"syscall"
)

// systemctlScript comes before the root's own systemctl, which is told that it
// is offline, leaves out what it cannot do, and says so, but fails for --now.
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
for real in /usr/bin/systemctl /bin/systemctl; do
	[ ! -x "$real" ] || exec "$real" "$@"
done
echo "systemctl: command not found" >&2
exit 127
`

// commandsDir has the commands of trials. It comes first in PATH, so that the
// root's own files stay as they are, and dpkg can replace them.
const commandsDir = "/dev/.skyhook"

// containedEnv is what steps get in addition where they cannot have services.
// SYSTEMD_OFFLINE says what systemctl would find out itself if process 1 had
// another root.
var containedEnv = []string{"PATH=" + commandsDir + ":" + standardPath, "SYSTEMD_OFFLINE=1"}

// mountCommands puts a systemctl for trials into dev, if the root has one.
func mountCommands(root, dev string) error {
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV
	dir := filepath.Join(dev, filepath.Base(commandsDir))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("commands", dir, "tmpfs", flags, "mode=755"); err != nil {
		return err
	}
	for _, place := range []string{"usr/bin/systemctl", "bin/systemctl"} {
		if info, err := os.Lstat(filepath.Join(root, place)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		script := filepath.Join(dir, "systemctl")
		if err := os.WriteFile(script, []byte(systemctlScript), 0o600); err != nil {
			return err
		}
		if err := os.Chmod(script, 0o755); err != nil { // all may run it, as the one behind it
			return err
		}
	}
	// Nothing in dev can be run, but this.
	return syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|flags, "")
}

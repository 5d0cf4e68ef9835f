//go:build linux

package testbed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// hostTools are the programs needed on the machine and the Debian packages they come in.
var hostTools = map[string]string{
	"debootstrap": "debootstrap",
	"ip":          "iproute2",
	"nsenter":     "util-linux",
	"mount":       "mount",
}

// checkMachine returns a sentence on the first thing this machine lacks, and installs missing Debian packages.
func checkMachine(p *progress) error {
	if err := checkRoot(); err != nil {
		return err
	}
	if err := installTools(p); err != nil {
		return err
	}
	if err := checkOverlay(); err != nil {
		return err
	}
	if _, err := machineCgroups(); err != nil {
		return err
	}
	return checkNetwork()
}

func checkRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("the testbed needs root, for namespaces, mounts and control groups: run it with sudo, or set KUBECONFIG to use a cluster of your own")
	}
	return nil
}

func installTools(p *progress) (err error) {
	var missing []string
	for tool, pkg := range hostTools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("the testbed needs %s and finds no apt-get to install it with: use Debian or Ubuntu, or install it by hand", strings.Join(missing, ", "))
	}
	defer p.step("install %s", strings.Join(missing, ", "))(&err)
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if aptGet(install...) == nil {
		return nil
	}
	// The package lists may be missing or old.
	if err := aptGet("update"); err != nil {
		return err
	}
	return aptGet(install...)
}

// aptGet is not interrupted with this program: a package left half-way would have to be repaired by hand.
func aptGet(args ...string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return outputInError(cmd)
}

// runCommand runs a command that dies with this program, however that ends: what it writes will be written anew.
func runCommand(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// The signal comes when the thread ends that started the process, so that thread waits for it.
	return onOwnThread(func() error { return outputInError(cmd) })
}

// outputInError runs a command and puts the end of its output into the error.
func outputInError(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Args[0], err, tail(out, 5))
	}
	return nil
}

// tail returns the last n lines.
func tail(b []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func checkOverlay() error {
	_ = exec.Command("modprobe", "-q", "overlay").Run() // a kernel that has it built in needs no module
	fs, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !bytes.Contains(fs, []byte("\toverlay\n")) {
		return errors.New("this kernel has no overlay file system, which nodes and containers need: boot a kernel with CONFIG_OVERLAY_FS")
	}
	return nil
}

// checkNetwork tries in a throw-away namespace what nodes will need.
func checkNetwork() error {
	n, err := newNetns()
	if err != nil {
		return fmt.Errorf("%w; run the testbed where it may create namespaces (not in an unprivileged container)", err)
	}
	defer closeQuietly(n.file)
	for kind, cmd := range map[string]string{
		"CONFIG_BRIDGE": "link add br0 type bridge",
		"CONFIG_VETH":   "link add veth0 type veth peer name veth1",
	} {
		if err := n.ip(cmd); err != nil {
			return fmt.Errorf("this kernel cannot make the nodes' network: boot a kernel with %s (%w)", kind, err)
		}
	}
	return nil
}

// closeQuietly closes what was only read or is being thrown away.
func closeQuietly(c io.Closer) { _ = c.Close() }

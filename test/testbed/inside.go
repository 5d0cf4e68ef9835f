//go:build linux

package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalReboot asks systemd to reboot, see systemd(1): SIGRTMIN+5, where the C library's SIGRTMIN is 34.
const signalReboot = unix.Signal(34 + 5)

// Command returns a command that runs inside a node as its root user, with a plain environment. It ends with the node.
func (c *Cluster) Command(ctx context.Context, node string, argv ...string) (*exec.Cmd, error) {
	pid, err := c.initPID(node)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, fmt.Errorf("%s is off: start it with \"testbed reboot %s\"", node, node)
	}
	args := append([]string{"--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--"}, argv...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = []string{"PATH=" + nodePath, "HOME=/root", "LC_ALL=C.UTF-8", "TERM=" + os.Getenv("TERM")}
	return cmd, nil
}

// Exec runs a command inside a node and returns its standard output. The error of a command that fails wraps
// *exec.ExitError and holds its standard error.
func (c *Cluster) Exec(ctx context.Context, node string, argv ...string) ([]byte, error) {
	cmd, err := c.Command(ctx, node, argv...)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// nsenter waits for the command in a process of its own: the group is both.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("%s on %s: %w: %s", argv[0], node, err, tail(stderr.Bytes(), 5))
	}
	return stdout.Bytes(), nil
}

// initPID returns the node's PID 1 as seen from here, or 0 when the node is off.
func (c *Cluster) initPID(node string) (int, error) {
	if _, err := c.number(node); err != nil {
		return 0, err
	}
	return c.group.child(node).firstProcess(), nil
}

// BootID returns the id of the node's present life.
func (c *Cluster) BootID(ctx context.Context, node string) (string, error) {
	const file = "/proc/sys/kernel/random/boot_id"
	machine, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	b, err := c.Exec(ctx, node, "cat", file)
	if err == nil && bytes.Equal(b, machine) {
		// Its first process is there, but has not put its file systems together yet.
		err = fmt.Errorf("%s is still booting", node)
	}
	return strings.TrimSpace(string(b)), err
}

// Reboot reboots a node in good order, or starts one that is off, and waits until it is ready in its new life.
func (c *Cluster) Reboot(ctx context.Context, node string) error {
	old, err := c.initPID(node)
	if err != nil {
		return err
	}
	if err := c.endLife(ctx, node, old); err != nil {
		return err
	}
	var bootID string
	err = poll(ctx, node+" to boot", func() (bool, error) {
		pid, err := c.initPID(node)
		if err != nil || pid == 0 || pid == old {
			return false, err
		}
		bootID, err = c.BootID(ctx, node)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	cs, err := c.client()
	if err != nil {
		return err
	}
	return waitRebooted(ctx, cs, node, bootID)
}

func (c *Cluster) endLife(ctx context.Context, node string, pid int) error {
	if pid != 0 {
		return unix.Kill(pid, signalReboot)
	}
	n, err := c.number(node)
	if err != nil {
		return err
	}
	_, err = ask[int](ctx, c.dir, http.MethodPost, fmt.Sprintf("/nodes/%d/boot", n))
	return err
}

// Logs writes the node's console, which tells of boots, and its journal with the given arguments of journalctl
// ("-u", "kubelet", "-f") to w. The journal can only be read while the node is on.
func (c *Cluster) Logs(ctx context.Context, node string, w io.Writer, args ...string) error {
	if _, err := c.number(node); err != nil {
		return err
	}
	console, err := os.ReadFile(filepath.Join(c.dir, dirNodes, node, fileConsole))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := w.Write(console); err != nil {
		return err
	}
	cmd, err := c.Command(ctx, node, append([]string{"journalctl", "--no-pager", "-o", "short-iso"}, args...)...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	return cmd.Run()
}

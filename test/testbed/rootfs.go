//go:build linux

package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	debianSuite   = "bookworm"
	defaultMirror = "http://deb.debian.org/debian"
)

// nodePackages make a node: an init system and what a small server has, the container runtime, and nothing of
// Kubernetes.
var nodePackages = []string{
	"systemd", "systemd-sysv", "dbus", "udev", "cron", "procps", "iproute2", "iptables", "conntrack", "kmod", "mount",
	"ca-certificates", "containerd", "runc", "containernetworking-plugins", "busybox-static", "bash-static",
}

// buildRootfs makes the read-only lower layer of every node's root file system.
func (a *assets) buildRootfs(ctx context.Context, o Options, _ string, p *progress) error {
	include := strings.Join(nodePackages, ",")
	offer := strings.Join(offeredPackages, ",") + repositorySource
	a.Rootfs = filepath.Join(o.Cache, "rootfs-"+shortHash([]byte(debianSuite), []byte(include), []byte(offer)))
	return produce(a.Rootfs, func(tmp string) (err error) {
		defer p.step("make the nodes' root file system from Debian %s packages (about 1 minute)", debianSuite)(&err)
		mirror := os.Getenv("DEBIAN_MIRROR")
		if mirror == "" {
			mirror = defaultMirror
		}
		cmd := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--include="+include, debianSuite, tmp, mirror)
		if err := runCommand(isolated(cmd)); err != nil {
			return fmt.Errorf("packages of %s (if that cannot be reached, set DEBIAN_MIRROR to another mirror): %w", mirror, err)
		}
		// What debootstrap downloaded is installed.
		if err := os.RemoveAll(filepath.Join(tmp, "var", "cache", "apt", "archives")); err != nil {
			return err
		}
		return offerPackages(ctx, tmp)
	})
}

// isolated gives a command namespaces of its own, so that its mounts and processes vanish with it, however it ends.
func isolated(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Cloneflags:   syscall.CLONE_NEWPID,
	}
	return cmd
}

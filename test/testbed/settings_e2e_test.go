//go:build linux && e2e

package testbed

import (
	"context"
	"os"
	"strings"
	"testing"
)

// testPackages installs what the testbed offers, as a package's own script would.
func testPackages(ctx context.Context, t *testing.T, c *Cluster) {
	_, err := c.Exec(ctx, "node1", "sh", "-c", "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends grub2-common")
	check(t, err)
	out, err := c.Exec(ctx, "node1", "apt-get", "install", "--simulate", "tuned")
	check(t, err)
	if !strings.Contains(string(out), "Inst tuned ") {
		t.Errorf("tuned is not to be had: %s", out)
	}
}

// testSettings changes a node's settings and boots it: what a file says comes back, what was only set does not, and
// nothing of it is the machine's.
func testSettings(ctx context.Context, t *testing.T, c *Cluster) {
	const grub = "menuentry 'Debian' {\\n\\tlinux /boot/vmlinuz-6.1 root=/dev/vda1 hugepages=4\\n}\\n"
	machine := func(name string) string {
		value, err := os.ReadFile("/proc/" + name)
		check(t, err)
		return string(value)
	}
	node := func(name string) string {
		value, err := c.Exec(ctx, "node1", "cat", "/proc/"+name)
		check(t, err)
		return string(value)
	}
	swappiness, ratio := machine("sys/vm/swappiness"), machine("sys/vm/dirty_ratio")
	script := "set -e; sysctl -w vm.swappiness=7; echo vm.dirty_ratio=33 > /etc/sysctl.d/50-test.conf; mkdir -p /boot/grub; printf \"" + grub + "\" > /boot/grub/grub.cfg"
	_, err := c.Exec(ctx, "node1", "sh", "-c", script)
	check(t, err)
	if got := node("sys/vm/swappiness"); got != "7\n" {
		t.Errorf("vm.swappiness is %q after it was set", got)
	}
	check(t, c.Reboot(ctx, "node1"))
	for name, want := range map[string]string{
		"sys/vm/swappiness": swappiness, "sys/vm/dirty_ratio": "33\n", "cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.1 root=/dev/vda1 hugepages=4\n",
	} {
		if got := node(name); got != want {
			t.Errorf("after a boot %s is %q, want %q", name, got, want)
		}
	}
	if machine("sys/vm/swappiness") != swappiness || machine("sys/vm/dirty_ratio") != ratio || strings.Contains(machine("cmdline"), "hugepages=4") {
		t.Error("the machine's settings have changed")
	}
}

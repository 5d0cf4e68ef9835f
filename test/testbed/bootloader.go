//go:build linux

package testbed

import (
	"os"
	"strings"
)

// commandLine does a boot loader's work on a node that has one configured: what the kernel is booted with, by the
// node's own grub.cfg, is what the node finds in /proc/cmdline. Other nodes see the machine's.
func (m *mounter) commandLine() {
	config, err := os.ReadFile(m.path("boot/grub/grub.cfg"))
	if err != nil {
		return
	}
	if args := bootArguments(string(config)); args != "" && m.err == nil {
		m.file("run/testbed/cmdline", args+"\n")
		m.bind(m.path("run/testbed/cmdline"), "proc/cmdline", 0)
	}
}

// bootArguments are what GRUB passes to the kernel of its first menu entry, the default one.
func bootArguments(config string) string {
	for line := range strings.Lines(config) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "linux" {
			return "BOOT_IMAGE=" + strings.Join(words[1:], " ")
		}
	}
	return ""
}

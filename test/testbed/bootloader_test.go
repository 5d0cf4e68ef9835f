//go:build linux

package testbed

import "testing"

func TestBootArguments(t *testing.T) {
	const header = "set default=\"0\"\nif [ x$feature = xy ]; then\n  insmod all_video\nfi\n"
	for name, test := range map[string]struct{ config, want string }{
		"no entries":   {header, ""},
		"no arguments": {header + "menuentry 'x' {\n\tlinux\n}\n", ""},
		"the first entry counts": {
			header + "menuentry 'Debian' {\n\techo\t'Loading Linux ...'\n\tlinux\t/boot/vmlinuz-6.1 root=/dev/vda1 ro  quiet hugepages=4\n}\n" +
				"menuentry 'rescue' {\n\tlinux\t/boot/vmlinuz-6.1 root=/dev/vda1 single\n}\n",
			"BOOT_IMAGE=/boot/vmlinuz-6.1 root=/dev/vda1 ro quiet hugepages=4",
		},
		"words that only begin so": {"linuxefi /boot/vmlinuz-5 x\nlinux /boot/vmlinuz-6.1 y\n", "BOOT_IMAGE=/boot/vmlinuz-6.1 y"},
	} {
		if got := bootArguments(test.config); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

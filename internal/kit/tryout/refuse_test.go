package tryout

import "testing"

func TestUncontained(t *testing.T) {
	for script, line := range map[string]int{
		"#!/bin/sh\nmount -t devtmpfs dev /mnt":         2,
		"mount --types=debugfs none /sys/kernel/debug":  1,
		"true\nif mount -o remount,rw /sys; then :; fi": 2,
		"mount -o rw,remount /proc/sys":                 1,
		"# mount -t sysfs sys /sys":                     0,
		"mount -t tmpfs probe /opt/probe":               0,
		"mount -o remount,rw /boot":                     0,
		"mount --bind / /host":                          0,
		"mount -t proc proc /mnt/proc":                  0,
		"nsenter -t 1 -m -- sh -c true":                 0,
	} {
		if got, what := uncontained([]byte(script)); got != line {
			t.Errorf("%q: line %d %s, want %d", script, got, what, line)
		}
	}
}

package hostfs

import (
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// WithoutOpenat2 makes the kernel an old one until the test is over.
func WithoutOpenat2(t *testing.T) {
	openat2 = func(int, string, *unix.OpenHow) (int, error) { return -1, unix.ENOSYS }
	t.Cleanup(func() { openat2 = unix.Openat2 })
}

// WithMountTable replaces the kernel's table of mounts until the test is over.
func WithMountTable(t *testing.T, table func(mountinfo.FilterFunc) ([]*mountinfo.Info, error)) {
	mountTable = table
	t.Cleanup(func() { mountTable = mountinfo.GetMounts })
}

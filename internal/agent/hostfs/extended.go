package hostfs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// needed are the extended attributes without which a file is not the same to
// users: what it may do, and who may use it. All others are copied if that can
// be; security modules have their own mind about theirs.
var needed = []string{"security.capability", "system.posix_acl_access"}

// extendedOf reads the extended attributes of a file, as far as they can be.
func extendedOf(path string) (map[string][]byte, error) {
	size, err := unix.Listxattr(path, nil)
	if err != nil || size == 0 {
		return nil, nil // a file system without any
	}
	names := make([]byte, size)
	if size, err = unix.Listxattr(path, names); err != nil {
		return nil, nil
	}
	found := map[string][]byte{}
	for name := range strings.SplitSeq(strings.Trim(string(names[:size]), "\x00"), "\x00") {
		// 64 KiB is the most that the kernel takes.
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(path, name, value)
		switch {
		case err == nil:
			found[name] = value[:n]
		case slices.Contains(needed, name) && !errors.Is(err, unix.ENODATA):
			return nil, fmt.Errorf("read extended attribute %s: %w", name, err)
		}
	}
	return found, nil
}

func setExtended(file *os.File, values map[string][]byte) error {
	for name, value := range values {
		err := unix.Fsetxattr(int(file.Fd()), name, value, 0)
		if err != nil && slices.Contains(needed, name) && !errors.Is(err, syscall.ENOTSUP) {
			return fmt.Errorf("set extended attribute %s: %w", name, err)
		}
	}
	return nil
}

package hostfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// extendedOf reads the extended attributes of a file: its label, its access
// list, its capabilities.
func extendedOf(path string) (map[string][]byte, error) {
	size, err := unix.Listxattr(path, nil)
	if errors.Is(err, syscall.ENOTSUP) || err == nil && size == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list extended attributes: %w", err)
	}
	names := make([]byte, size)
	if size, err = unix.Listxattr(path, names); err != nil {
		return nil, fmt.Errorf("list extended attributes: %w", err)
	}
	found := map[string][]byte{}
	for name := range strings.SplitSeq(strings.Trim(string(names[:size]), "\x00"), "\x00") {
		// 64 KiB is the most that the kernel takes.
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(path, name, value)
		if err != nil {
			return nil, fmt.Errorf("read extended attribute %s: %w", name, err)
		}
		found[name] = value[:n]
	}
	return found, nil
}

func setExtended(file *os.File, values map[string][]byte) error {
	for name, value := range values {
		err := unix.Fsetxattr(int(file.Fd()), name, value, 0)
		if err != nil && !errors.Is(err, syscall.ENOTSUP) {
			return fmt.Errorf("set extended attribute %s: %w", name, err)
		}
	}
	return nil
}

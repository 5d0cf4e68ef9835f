//go:build !linux

package hostfs

import (
	"errors"
	"fmt"
)

// RemoveAll has no way here to stop at mounts. Only packages are validated on
// such systems, which removes nothing.
func RemoveAll(path string) error {
	return fmt.Errorf("remove %q: %w", path, errors.ErrUnsupported)
}

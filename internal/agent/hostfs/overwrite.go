package hostfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// overwrite writes into the file at path itself, as the only way where the
// file is a mount point: nothing can be renamed over that. The temporary file
// has all of it by then. What a crash leaves half written differs from what
// was to be there, and so is written again.
func overwrite(temp *os.File, path string, attr attributes) error {
	info, err := temp.Stat()
	if err != nil {
		return err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("something is mounted there, read-only; unmount it, or do not ship the file: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	boundary()
	// First: afterwards it would change the time.
	if err := file.Truncate(info.Size()); err != nil {
		return err
	}
	return fill(file, path, temp, attr)
}

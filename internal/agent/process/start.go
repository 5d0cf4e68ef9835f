package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// start starts the command in a mount namespace. A new process gets that of
// the thread which makes it, so one thread is moved there.
func start(cmd *exec.Cmd, namespace *os.File) error {
	if namespace == nil {
		return cmd.Start()
	}
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with this function, and nothing else
		// of ours runs where it is.
		runtime.LockOSThread()
		result <- startIn(cmd, namespace)
	}()
	return <-result
}

func startIn(cmd *exec.Cmd, namespace *os.File) error {
	// Threads share their root directory, and the kernel moves none that does.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("enter the mount namespace: %w", err)
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the mount namespace: %w", err)
	}
	return cmd.Start()
}

// NoExec reports whether the file system of a file is mounted so that nothing
// of it can be started.
func NoExec(name string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(name, &fs) == nil && fs.Flags&unix.MS_NOEXEC != 0
}

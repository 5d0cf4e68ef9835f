//go:build linux

package testbed

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// netns is a network namespace without a name: it lives as long as a process is in it or the daemon holds this file, so
// nothing is left to clean up when all of them are killed.
type netns struct{ file *os.File }

// newNetns creates an empty network namespace.
func newNetns() (*netns, error) {
	n := &netns{}
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create network namespace: %w", err)
		}
		var err error
		n.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return n, err
}

// do runs f inside the namespace. f must not leave the work to other goroutines: only this thread is inside.
func (n *netns) do(f func() error) error {
	return onOwnThread(func() error {
		if err := n.enter(); err != nil {
			return err
		}
		return f()
	})
}

// enter moves the calling thread, which must be locked and never be reused, into the namespace.
func (n *netns) enter() error {
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return nil
}

func (n *netns) close() error { return n.file.Close() }

// path is a name of the namespace that other processes can open while this one lives.
func (n *netns) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// dial connects from inside the namespace; address must be numeric, for name lookups leave the thread.
func (n *netns) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.do(func() error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (n *netns) listen(address string) (l net.Listener, err error) {
	err = n.do(func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

// ip runs a batch of ip(8) commands inside the namespace, one per line.
func (n *netns) ip(batch ...string) error {
	return n.do(func() error {
		cmd := exec.Command("ip", "-batch", "-")
		cmd.Stdin = strings.NewReader(strings.Join(batch, "\n") + "\n")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("ip: %w: %s", err, bytes.TrimSpace(out.Bytes()))
		}
		return nil
	})
}

// sysctl sets a network sysctl ("ipv4/ip_forward") of the namespace.
func (n *netns) sysctl(key, value string) error {
	return n.do(func() error { return os.WriteFile("/proc/sys/net/"+key, []byte(value), 0) })
}

// onOwnThread runs f on an operating system thread that ends with it, so that f may change what belongs to the thread.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		done <- f()
	}()
	return <-done
}

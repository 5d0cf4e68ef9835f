//go:build linux

package testbed

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// node is one running node as its daemon sees it.
type node struct {
	number int
	dir    string
	assets assets
	group  cgroups
	net    *netns

	mu      sync.Mutex
	running bool
	stopped bool // for good: never start again
}

// boot starts the node's systemd, and again after each reboot, until the node powers off or is stopped. It does nothing
// for a node that runs.
func (n *node) boot() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running || n.stopped {
		return
	}
	n.running = true
	go n.run()
}

func (n *node) run() {
	for {
		err := n.runOnce()
		log.Printf("%s: PID 1 ended: %v", nodeName(n.number), err)
		if !n.again(err) {
			return
		}
	}
}

// again is true when the node must boot once more.
func (n *node) again(err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = !n.stopped && isReboot(err)
	return n.running
}

// isReboot tells a reboot from a power-off: the kernel ends a PID namespace's init by SIGHUP for the one and by SIGINT
// for the other, see reboot(2). Any other end is a crash, and a crashed machine with a watchdog boots again.
func isReboot(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false // it never started
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() != syscall.SIGINT
}

// runOnce boots the node and returns when its PID 1 has ended.
func (n *node) runOnce() error {
	console, err := os.OpenFile(filepath.Join(n.dir, fileConsole), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer closeQuietly(console)
	config, err := json.Marshal(nodeBoot{
		Name: nodeName(n.number), Dir: n.dir, Rootfs: n.assets.Rootfs, Bin: n.assets.Kubernetes,
		Cgroup: n.group.name, BootID: uuid.NewString(),
	})
	if err != nil {
		return err
	}
	// What the node's last life left in its groups, it would find as its own.
	if err := n.clearGroup(); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{fileProgram, nodeName(n.number)}
	cmd.Env = []string{roleVar + "=" + roleNode, configVar + "=" + string(config)}
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{n.net.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	fmt.Fprintf(console, "--- boot at %s\n", time.Now().UTC().Format(time.RFC3339))
	return onOwnThread(cmd.Run)
}

// clearGroup makes the node's control groups new and empty.
func (n *node) clearGroup() error {
	ctx, cancel := killContext()
	defer cancel()
	if err := n.group.destroy(ctx); err != nil {
		return err
	}
	return n.group.create()
}

// stop ends the node for good and removes all it had.
func (n *node) stop(network *netns) error {
	n.mu.Lock()
	n.stopped = true
	n.mu.Unlock()
	ctx, cancel := killContext()
	defer cancel()
	if err := n.group.destroy(ctx); err != nil {
		return err
	}
	if err := detachNode(network, n.number); err != nil {
		return err
	}
	if err := n.net.close(); err != nil {
		return err
	}
	return os.RemoveAll(n.dir)
}

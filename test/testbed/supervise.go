//go:build linux

package testbed

import (
	"context"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// restartPause keeps a program that cannot start from eating a processor.
const restartPause = time.Second

// program is one process of the control plane.
type program struct {
	name string
	argv []string
}

// keepRunning starts the program inside the namespace again and again until ctx ends.
func (p program) keepRunning(ctx context.Context, network *netns, state string) {
	for ctx.Err() == nil {
		err := p.run(network, state)
		log.Printf("%s ended: %v", p.name, err)
		select {
		case <-ctx.Done():
		case <-time.After(restartPause):
		}
	}
}

// run returns when the program has ended.
func (p program) run(network *netns, state string) error {
	out, err := os.OpenFile(filepath.Join(state, dirLogs, p.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer closeQuietly(out)
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = state
	cmd.Stdout, cmd.Stderr = out, out
	// The signal comes when the thread ends that started the process, so that thread waits for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return network.do(cmd.Run)
}

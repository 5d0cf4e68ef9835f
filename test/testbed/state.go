//go:build linux

package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// formatVersion changes when a cluster started by older code cannot be used by newer code.
const formatVersion = 2

// Files in the state folder. Everything but logs goes with the cluster.
const (
	fileCluster  = "cluster.json"
	fileLock     = "lock"
	fileSocket   = "daemon.sock"
	fileProgram  = "testbed"
	fileConfig   = "kubeconfig"
	dirLogs      = "log"
	dirNodes     = "nodes"
	dirRegistry  = "registry"
	daemonGroup  = "daemon" // control group of daemon and control plane
	daemonLog    = "log/daemon.log"
	fileConsole  = "console.log"
	lockWaitStep = 50 * time.Millisecond
)

// clusterState is what the state folder remembers of a running cluster.
type clusterState struct {
	Format       int    `json:"format"`
	ID           string `json:"id"`
	Assets       assets `json:"assets"`
	Nodes        []int  `json:"nodes"`        // numbers of the nodes that should exist
	RegistryAddr string `json:"registryAddr"` // on this machine, "127.0.0.1:<port>"
}

// compatible is true when this code with these assets would have started the same cluster.
func (s clusterState) compatible(a assets) bool { return s.Format == formatVersion && s.Assets == a }

// nextNode returns the lowest free node number.
func (s clusterState) nextNode() int {
	for n := 1; ; n++ {
		if !slices.Contains(s.Nodes, n) {
			return n
		}
	}
}

func readState(dir string) (clusterState, error) {
	var s clusterState
	b, err := os.ReadFile(filepath.Join(dir, fileCluster))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", filepath.Join(dir, fileCluster), err)
	}
	return s, nil
}

func (s clusterState) write(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, fileCluster), b)
}

func writeAtomic(file string, b []byte) error {
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// wipe removes what a cluster leaves in its folder. cluster.json goes first, so that a daemon that is just starting
// finds no cluster. Logs stay to be read; images stay if the cluster is to start again.
func wipe(dir string, keepImages bool) error {
	keep := []string{fileLock, dirLogs}
	if keepImages {
		keep = append(keep, dirRegistry)
	}
	if err := os.Remove(filepath.Join(dir, fileCluster)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if slices.Contains(keep, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lockFile takes an exclusive lock that ends with the process. It waits for another holder, and says so once.
func lockFile(ctx context.Context, file string, p *progress) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { closeQuietly(f) }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			closeQuietly(f)
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if !told {
			p.line("waiting for another testbed command that holds %s", file)
		}
		select {
		case <-ctx.Done():
			closeQuietly(f)
			return nil, ctx.Err()
		case <-time.After(lockWaitStep):
		}
	}
}

// logTail returns the last lines of a log in the state folder, for errors.
func logTail(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(tail(b, 5))
}

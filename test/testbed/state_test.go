//go:build linux

package testbed

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestStateRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := clusterState{Format: formatVersion, ID: "x", Assets: assets{Kubernetes: "/k", Pause: "/p", Rootfs: "/r"}, Nodes: []int{1, 3}, RegistryAddr: "127.0.0.1:5"}
	if err := want.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := readState(dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := readState(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no state: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileCluster), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("broken state: %v", err)
	}
}

func TestCompatible(t *testing.T) {
	a := assets{Kubernetes: "/k", Rootfs: "/r", Pause: "/p"}
	for name, tt := range map[string]struct {
		state clusterState
		want  bool
	}{
		"the same":           {clusterState{Format: formatVersion, Assets: a}, true},
		"an older format":    {clusterState{Format: formatVersion - 1, Assets: a}, false},
		"another Kubernetes": {clusterState{Format: formatVersion, Assets: assets{Kubernetes: "/k2", Rootfs: "/r", Pause: "/p"}}, false},
		"another root":       {clusterState{Format: formatVersion, Assets: assets{Kubernetes: "/k", Rootfs: "/r2", Pause: "/p"}}, false},
	} {
		if got := tt.state.compatible(a); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestNextNode(t *testing.T) {
	for _, tt := range []struct {
		nodes []int
		want  int
	}{{nil, 1}, {[]int{1, 2}, 3}, {[]int{2, 3}, 1}, {[]int{3, 1}, 2}} {
		if got := (clusterState{Nodes: tt.nodes}).nextNode(); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.nodes, got, tt.want)
		}
	}
}

func TestWipe(t *testing.T) {
	for _, keepImages := range []bool{true, false} {
		dir := t.TempDir()
		for _, f := range []string{fileLock, fileCluster, fileConfig, "log/daemon.log", "registry/blobs/x", "nodes/node1/upper/etc/x", "pki/ca.key"} {
			if err := writeBelow(dir, f, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := wipe(dir, keepImages); err != nil {
			t.Fatal(err)
		}
		want := []string{fileLock, dirLogs}
		if keepImages {
			want = append(want, dirRegistry)
		}
		entries := must(os.ReadDir(dir))(t)
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("keep images %t: left %v, want %v", keepImages, got, want)
		}
	}
	if err := wipe(filepath.Join(t.TempDir(), "none"), false); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

func TestLockFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "lock")
	unlock, err := lockFile(t.Context(), file, newProgress(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	// The second holder waits, says so, and gives up with its context.
	ctx, cancel := context.WithCancel(t.Context())
	told := writerFunc(func(b []byte) (int, error) {
		if !strings.Contains(string(b), "waiting for another testbed command") {
			t.Errorf("told %q", b)
		}
		cancel()
		return len(b), nil
	})
	if _, err := lockFile(ctx, file, newProgress(told)); !errors.Is(err, context.Canceled) {
		t.Errorf("second holder: %v", err)
	}
	unlock()
	if unlock, err = lockFile(t.Context(), file, newProgress(io.Discard)); err != nil {
		t.Fatal(err)
	}
	unlock()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

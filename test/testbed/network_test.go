//go:build linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPump checks that an end of data in one direction leaves the other one open, as HTTP clients and kubectl exec
// need.
func TestPump(t *testing.T) {
	server := must(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer closeQuietly(server)
	go func() { // answers only after the client said that it is done
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer closeQuietly(conn)
		all, _ := io.ReadAll(conn)
		fmt.Fprintf(conn, "got %d bytes", len(all))
	}()
	front := must(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer closeQuietly(front)
	go func() {
		conn, err := front.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp4", server.Addr().String())
		if err != nil {
			closeQuietly(conn)
			return
		}
		splice(conn, back)
	}()

	conn := must(net.Dial("tcp4", front.Addr().String()))(t)
	defer closeQuietly(conn)
	if _, err := conn.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != "got 100000 bytes" {
		t.Errorf("%q, %v", answer, err)
	}
}

// serveSocket serves a handler where clients expect the daemon of dir.
func serveSocket(t *testing.T, dir string, h http.Handler) {
	t.Helper()
	l := must(listenSocket(dir))(t)
	s := &http.Server{Handler: h}
	t.Cleanup(func() { closeQuietly(s) })
	go func() { _ = s.Serve(l) }()
}

func TestAsk(t *testing.T) {
	dir := t.TempDir()
	d := &daemon{dir: dir, state: clusterState{Nodes: []int{1, 2}}, nodes: map[int]*node{}}
	serveSocket(t, dir, d.handler())

	s, err := ask[clusterState](t.Context(), dir, http.MethodGet, "/nodes")
	if err != nil || len(s.Nodes) != 2 {
		t.Errorf("state %+v, %v", s, err)
	}
	for _, tt := range []struct{ method, path, want string }{
		{http.MethodDelete, "/nodes/7", "there is no node7"},
		{http.MethodPost, "/nodes/8/boot", "there is no node8"},
		{http.MethodDelete, "/nodes/x", "invalid syntax"},
		{http.MethodGet, "/nothing", "not found"},
	} {
		if _, err := ask[int](t.Context(), dir, tt.method, tt.path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
		}
	}
	if _, err := ask[int](t.Context(), t.TempDir(), http.MethodGet, "/nodes"); err == nil {
		t.Error("an answer without a daemon")
	}
}

func TestSocketOfDeadDaemonIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := writeBelow(dir, fileSocket, nil); err != nil {
		t.Fatal(err)
	}
	serveSocket(t, dir, http.NotFoundHandler())
}

func TestOpenWithoutCluster(t *testing.T) {
	t.Setenv("SKYHOOK_CACHE", t.TempDir())
	for _, state := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		_, err := Open(state)
		if !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "testbed up") {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func TestClusterNodes(t *testing.T) {
	c := &Cluster{last: clusterState{Nodes: []int{1, 4}}}
	if got := strings.Join(c.Nodes(), " "); got != "node1 node4" {
		t.Errorf("nodes %q", got)
	}
	if n, err := c.number("node4"); err != nil || n != 4 {
		t.Errorf("number %d, %v", n, err)
	}
	if _, err := c.number("node2"); err == nil || !strings.Contains(err.Error(), "node1 node4") {
		t.Errorf("unknown node: %v", err)
	}
}

// TestIsReboot ends real processes the way the kernel ends a node's PID 1.
func TestIsReboot(t *testing.T) {
	// Who started this test may ignore these signals, and children inherit that; those that are caught they do not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(caught) })
	for script, want := range map[string]bool{
		"kill -HUP $$":  true,  // reboot
		"kill -INT $$":  false, // power-off, halt
		"kill -KILL $$": true,  // crash
		"exit 1":        false, // the node could not be put together
	} {
		if got := isReboot(exec.Command("/bin/sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %t, want %t", script, got, want)
		}
	}
	if isReboot(errors.New("fork failed")) {
		t.Error("a process that never started rebooted")
	}
}

func TestControlPlaneArguments(t *testing.T) {
	c := controlPlane{bin: "/bin", state: "/state"}
	for _, tt := range []struct {
		argv []string
		want []string
	}{
		{c.etcd(), []string{"/bin/etcd", "--data-dir=/state/etcd"}},
		{c.apiServer(), []string{"/bin/kube-apiserver", "--enable-aggregator-routing=true", "--audit-log-path=/state/log/audit.log", "--secure-port=6443", "--advertise-address=10.200.0.1"}},
		{c.controllerManager(), []string{"/bin/kube-controller-manager", "--root-ca-file=/state/pki/ca.crt"}},
		{c.scheduler(), []string{"/bin/kube-scheduler", "--kubeconfig=/state/pki/scheduler.kubeconfig"}},
	} {
		line := " " + strings.Join(tt.argv, " ") + " "
		for _, w := range tt.want {
			if !strings.Contains(line, " "+w+" ") {
				t.Errorf("no %s in%s", w, line)
			}
		}
	}
}

func TestControlPlaneFiles(t *testing.T) {
	c := controlPlane{bin: "/bin", state: t.TempDir()}
	if err := c.writeFiles(newTestAuthority(t), "https://127.0.0.1:4711"); err != nil {
		t.Fatal(err)
	}
	// Every file that an argument names below the state folder exists, or is written by the program itself.
	for _, argv := range [][]string{c.apiServer(), c.controllerManager(), c.scheduler()} {
		for _, a := range argv {
			_, file, _ := strings.Cut(a, "=")
			if strings.HasPrefix(file, c.state) && file != auditLog(c.state) && len(mustGlob(t, file)) != 1 {
				t.Errorf("%s: no such file", a)
			}
		}
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	return must(filepath.Glob(pattern))(t)
}

func TestPollSaysWhatIsMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := poll(ctx, "the moon", func() (bool, error) {
		calls++
		if calls == 3 {
			cancel()
		}
		return false, errors.New("clouds")
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the moon") || !strings.Contains(err.Error(), "clouds") {
		t.Errorf("%v", err)
	}
	if err := poll(ctx, "nothing", func() (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}

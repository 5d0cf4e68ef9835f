// Package apiserver runs a real Kubernetes API server with the project's CRDs for tests: etcd and kube-apiserver as
// child processes, no nodes, no controllers. It knows nothing of the operator.
package apiserver

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/skyhook-operator/skyhook/charts"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// pool has the servers of a test binary whose TestMain calls Main or MainParallel.
var pool struct {
	servers []*server
	// free are those that no test has to itself; nil if all tests share the only one.
	free chan *server
}

// started are all servers of this process, for a signal, and those that can be asked by their addresses.
var started struct {
	mu      sync.Mutex
	servers []*server
	byHost  sync.Map
	once    sync.Once
}

// Main runs the tests of a package on one API server, which starts with the first call of Start and stops after the
// last test. Then the checks get the path of the server's audit log, which has all that ServiceAccounts asked for;
// whatever is wrong with that fails the run. It never returns. Use it as the body of TestMain.
func Main(m *testing.M, checks ...func(auditLog string) error) {
	pool.servers = []*server{{}}
	os.Exit(run(m, checks))
}

// MainParallel is Main for parallel tests that cannot share a server: that many run at a time, and each that calls Start
// has one of the servers to itself until it ends. The checks get what the audit logs of all have.
func MainParallel(m *testing.M, servers int, checks ...func(auditLog string) error) {
	pool.free = make(chan *server, servers)
	for range servers {
		s := &server{}
		pool.servers = append(pool.servers, s)
		pool.free <- s
	}
	// What the command line says wins.
	if err := flag.Set("test.parallel", strconv.Itoa(servers)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(m, checks))
}

func run(m *testing.M, checks []func(auditLog string) error) (code int) {
	code = m.Run()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if len(checks) > 0 {
		fail(checkLogs(checks))
	}
	fail(stopAll())
	return code
}

// checkLogs runs the checks on what the servers logged; without a server no test needed one.
func checkLogs(checks []func(auditLog string) error) error {
	folder, err := os.MkdirTemp("", "apiserver-")
	if err != nil {
		return fmt.Errorf("make a folder for the audit log: %w", err)
	}
	defer os.RemoveAll(folder)
	var log []byte
	used := false
	for _, s := range pool.servers {
		if s.env == nil {
			continue
		}
		used = true
		own, err := os.ReadFile(s.file("audit.log"))
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		log = append(log, own...)
	}
	path := filepath.Join(folder, "audit.log")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	var found []error
	for _, check := range checks {
		if used {
			found = append(found, check(path))
		}
	}
	return errors.Join(found...)
}

// Start returns the configuration of a cluster administrator for an API server with the project's CRDs. With Main, all
// tests of the package share one server and must clean up their objects; without, the server is the test's own.
// The test fails if KUBEBUILDER_ASSETS does not point to the binaries.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	s := take(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return rest.CopyConfig(s.config)
}

func take(t testing.TB) *server {
	switch {
	case pool.free != nil:
		s := <-pool.free
		t.Cleanup(func() { pool.free <- s })
		return s
	case len(pool.servers) > 0:
		return pool.servers[0]
	}
	s := &server{}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// auditPolicy logs what ServiceAccounts ask for, a watch already when it begins.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// As returns the configuration of somebody else for the API server that Start returned admin for: a user with a
// certificate of the name and the groups, as kubelets have.
func As(t testing.TB, admin *rest.Config, user string, groups ...string) *rest.Config {
	t.Helper()
	s, ok := started.byHost.Load(admin.Host)
	if !ok {
		t.Fatalf("%s is no server of Start", admin.Host)
	}
	added, err := s.(*server).env.AddUser(envtest.User{Name: user, Groups: groups}, rest.CopyConfig(admin))
	if err != nil {
		t.Fatal(err)
	}
	return added.Config()
}

type server struct {
	once sync.Once
	env  *envtest.Environment
	// folder for files of the server, removed with it.
	folder string
	config *rest.Config
	err    error
}

func (s *server) start() error {
	s.once.Do(func() {
		ctrllog.SetLogger(logr.Discard()) // else a stack of whoever starts it looks like the failure
		s.err = s.launch()
	})
	return s.err
}

func (s *server) launch() error {
	if err := CheckAssets(); err != nil {
		return err
	}
	definitions, err := charts.Definitions()
	if err != nil {
		return err
	}
	s.env = &envtest.Environment{
		CRDInstallOptions: envtest.CRDInstallOptions{CRDs: definitions, ErrorIfPathMissing: true},
		// Its own 20 seconds are short on a machine that compiles at the same time.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	if err := s.audit(); err != nil {
		return err
	}
	// Kubelets are held to their own node, as in every cluster that an installer sets up.
	s.env.ControlPlane.GetAPIServer().Configure().
		Set("authorization-mode", "Node", "RBAC").Append("enable-admission-plugins", "NodeRestriction")
	started.mu.Lock()
	started.servers = append(started.servers, s)
	started.mu.Unlock()
	started.once.Do(stopOnSignal)
	if s.config, err = s.env.Start(); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
	started.byHost.Store(s.config.Host, s)
	return nil
}

func (s *server) file(name string) string { return filepath.Join(s.folder, name) }

func (s *server) audit() (err error) {
	if s.folder, err = os.MkdirTemp("", "apiserver-"); err != nil {
		return fmt.Errorf("make a folder for the audit log: %w", err)
	}
	if err := os.WriteFile(s.file("policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	s.env.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", s.file("policy.yaml")).Set("audit-log-path", s.file("audit.log"))
	return nil
}

// stopOnSignal ends the child processes when the test is interrupted: they have a process group of their own, so a
// Ctrl-C does not reach them.
func stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for which := range signals {
			if which == syscall.SIGPIPE && !closed(os.Stdout) && !closed(os.Stderr) {
				continue // of a connection, whose other end a test closed
			}
			_ = stopAll() // the test has failed anyhow
			os.Exit(1)
		}
	}()
}

func stopAll() (err error) {
	started.mu.Lock()
	defer started.mu.Unlock()
	for _, s := range started.servers {
		err = errors.Join(err, s.stop())
	}
	return err
}

// closed reports whether nobody reads any more what is written to a pipe.
func closed(f *os.File) bool {
	state := []unix.PollFd{{Fd: int32(f.Fd())}}
	_, err := unix.Poll(state, 0)
	return err == nil && state[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

func (s *server) stop() error {
	if s.env == nil {
		return nil
	}
	stopped := s.env.Stop()
	if err := os.RemoveAll(s.folder); err != nil {
		return fmt.Errorf("remove the API server's files: %w", err)
	}
	if stopped != nil {
		return fmt.Errorf("stop API server: %w", stopped)
	}
	return nil
}

// CheckAssets tells what is missing before envtest falls back to folders of its own or fails with a bare exec error.
func CheckAssets() error { return checkAssets(os.Getenv(assetsVariable)) }

func checkAssets(dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is not set: point it to a folder with etcd, kube-apiserver and kubectl (`go run ./test/testbed/cmd/testbed build` makes one)", assetsVariable)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s=%s lacks %s (`go run ./test/testbed/cmd/testbed build` makes it): %w",
				assetsVariable, dir, name, err)
		}
	}
	return nil
}

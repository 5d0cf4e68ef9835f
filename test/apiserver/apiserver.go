// Package apiserver runs a real Kubernetes API server with the project's CRDs for tests: etcd and kube-apiserver as
// child processes, no nodes, no controllers. It knows nothing of the operator.
package apiserver

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/skyhook-operator/skyhook/config"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// shared is the server of a test binary whose TestMain calls Main; nil elsewhere.
var shared *server

// Main runs the tests of a package on one API server, which starts with the first call of Start and stops after the
// last test. Then the checks get the path of the server's audit log, which has all that ServiceAccounts asked for;
// whatever is wrong with that fails the run. It never returns. Use it as the body of TestMain.
func Main(m *testing.M, checks ...func(auditLog string) error) {
	shared = &server{}
	code := m.Run()
	for _, check := range checks {
		if shared.env == nil {
			break // no test needed it
		}
		if err := check(shared.file("audit.log")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Start returns the configuration of a cluster administrator for an API server with the project's CRDs. With Main, all
// tests of the package share one server and must clean up their objects; without, the server is the test's own.
// The test fails if KUBEBUILDER_ASSETS does not point to the binaries.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	s := shared
	if s == nil {
		s = &server{}
		t.Cleanup(func() {
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return rest.CopyConfig(s.config)
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

// StartAs returns the configuration of somebody else for the same API server: a user with a certificate of the name and
// the groups, as kubelets have.
func StartAs(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	admin := Start(t)
	if shared == nil {
		t.Fatal("another user needs a server that is shared: call Main")
	}
	added, err := shared.env.AddUser(envtest.User{Name: user, Groups: groups}, admin)
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
	s.once.Do(func() { s.err = s.launch() })
	return s.err
}

func (s *server) launch() error {
	if err := CheckAssets(); err != nil {
		return err
	}
	definitions, err := config.Definitions()
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
	s.stopOnSignal()
	if s.config, err = s.env.Start(); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
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
func (s *server) stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for which := range signals {
			if which == syscall.SIGPIPE && !closed(os.Stdout) && !closed(os.Stderr) {
				continue // of a connection, whose other end a test closed
			}
			_ = s.stop() // the test has failed anyhow
			os.Exit(1)
		}
	}()
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

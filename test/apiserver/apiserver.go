// Package apiserver runs a real Kubernetes API server with the project's CRDs for tests: etcd and kube-apiserver as
// child processes, no nodes, no controllers. It knows nothing of the operator.
package apiserver

import (
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/config"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// shared is the server of a test binary whose TestMain calls Main; nil elsewhere.
var shared *server

// Main runs the tests of a package on one API server, which starts with the first call of Start and stops after the
// last test. It never returns. Use it as the body of TestMain.
func Main(m *testing.M) {
	shared = &server{}
	code := m.Run()
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

type server struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

func (s *server) start() error {
	s.once.Do(func() { s.err = s.launch() })
	return s.err
}

func (s *server) launch() error {
	if err := checkAssets(os.Getenv(assetsVariable)); err != nil {
		return err
	}
	definitions, err := Definitions()
	if err != nil {
		return err
	}
	s.env = &envtest.Environment{
		CRDInstallOptions: envtest.CRDInstallOptions{CRDs: definitions, ErrorIfPathMissing: true},
	}
	s.stopOnSignal()
	if s.config, err = s.env.Start(); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
	return nil
}

// stopOnSignal ends the child processes when the test is interrupted: they have a process group of their own, so a
// Ctrl-C does not reach them.
func (s *server) stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		<-signals
		_ = s.env.Stop() // the test has failed anyhow
		os.Exit(1)
	}()
}

func (s *server) stop() error {
	if s.env == nil {
		return nil
	}
	if err := s.env.Stop(); err != nil {
		return fmt.Errorf("stop API server: %w", err)
	}
	return nil
}

// checkAssets tells what is missing before envtest falls back to folders of its own or fails with a bare exec error.
func checkAssets(dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is not set: point it to a folder with etcd, kube-apiserver and kubectl (`go run ./test/testbed/cmd/testbed build` makes one)", assetsVariable)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s=%s lacks %s (`go run ./test/testbed/cmd/testbed build` makes it): %w", assetsVariable, dir, name, err)
		}
	}
	return nil
}

// Definitions returns the project's CRDs, parsed from the generated files.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(config.CRDs, "crd/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	definitions := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		text, err := config.CRDs.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read CRD: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return nil, fmt.Errorf("parse CRD %s: %w", name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

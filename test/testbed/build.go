//go:build linux

package testbed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	modulePath = "github.com/skyhook-operator/skyhook"
	// toolsDir has what the newest Kubernetes is built from; an older one has its minor version behind: k8s-1.31.
	toolsDir = "test/testbed/k8s"
	pauseDir = "test/testbed/cmd/pause"
)

// kubernetesVersion is the version in a go.mod of what Kubernetes is built from, and what its programs report.
var kubernetesVersion = regexp.MustCompile(`\tk8s\.io/kubernetes (v\S+)`)

// assets are what clusters share. All are complete: a folder appears in the cache by one rename.
type assets struct {
	Kubernetes string // folder of etcd, kubectl, and the programs of control plane and nodes
	Pause      string // the pause program
	Rootfs     string // root file system of nodes
}

// builder makes one of the assets in o.Cache, from the project's sources in module, unless it is there.
type builder func(a *assets, ctx context.Context, o Options, module string, p *progress) error

// buildAssets makes what is missing in the cache. Cold, the programs take minutes.
func buildAssets(ctx context.Context, o Options, p *progress, builders ...builder) (assets, error) {
	var a assets
	module, err := moduleDir(ctx)
	if err != nil {
		return a, err
	}
	// One at a time: a second build of the same would only waste the processors.
	unlock, err := lockFile(ctx, filepath.Join(o.Cache, "testbed.lock"), p)
	if err != nil {
		return a, err
	}
	defer unlock()
	for _, build := range builders {
		if err := build(&a, ctx, o, module, p); err != nil {
			return a, err
		}
	}
	return a, nil
}

// moduleDir finds the project's sources: the tools module is no part of any package, so it cannot be embedded.
func moduleDir(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the testbed builds from source: run it inside its repository, with Go installed (%w: %s)",
			err, tail(stderr.Bytes(), 1))
	}
	return strings.TrimSpace(string(out)), nil
}

func (a *assets) buildKubernetes(ctx context.Context, o Options, module string, p *progress) error {
	tools := filepath.Join(module, toolsDir)
	if o.Kubernetes != "" {
		tools += "-" + o.Kubernetes
	}
	gomod, err := os.ReadFile(filepath.Join(tools, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the testbed cannot build Kubernetes %s: %s is missing; unset TESTBED_KUBERNETES for the newest",
			o.Kubernetes, tools)
	}
	if err != nil {
		return err
	}
	version := string(kubernetesVersion.FindSubmatch(gomod)[1])
	a.Kubernetes = filepath.Join(o.Cache, "k8s-"+version+"-"+shortHash(gomod))
	return produce(a.Kubernetes, func(tmp string) (err error) {
		defer p.step("build etcd and Kubernetes %s from source (the first time: about 5 minutes on 2 processors)",
			version)(&err)
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags",
			linkerFlags(version), "-o", tmp+"/", "tool")
		cmd.Dir = tools
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
		if err := runCommand(cmd); err != nil {
			return err
		}
		return os.Rename(filepath.Join(tmp, "server"), filepath.Join(tmp, "etcd"))
	})
}

// linkerFlags stamps the version; the API server refuses to start without one.
func linkerFlags(version string) string {
	const component, client = "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"
	minor := strings.Split(version, ".")[1]
	return strings.Join([]string{
		"-s -w",
		"-X " + component + ".gitVersion=" + version,
		"-X " + component + ".gitMajor=1", "-X " + component + ".gitMinor=" + minor,
		"-X " + component + ".gitTreeState=clean", "-X " + component + ".gitCommit=proxy",
		"-X " + client + ".gitVersion=" + version,
	}, " ")
}

func (a *assets) buildPause(ctx context.Context, o Options, module string, p *progress) error {
	source, err := os.ReadFile(filepath.Join(module, pauseDir, "main.go"))
	if err != nil {
		return err
	}
	dir := filepath.Join(o.Cache, "pause-"+shortHash(source))
	a.Pause = filepath.Join(dir, "pause")
	return produce(dir, func(tmp string) (err error) {
		defer p.step("build the pause image")(&err)
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o",
			filepath.Join(tmp, "pause"), "./"+pauseDir)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		return runCommand(cmd)
	})
}

// produce makes the folder dir by calling fill on a temporary one beside it, unless dir is there already. What an
// interrupted earlier call left is removed.
func produce(dir string, fill func(tmp string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	if err := fill(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func shortHash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

//go:build linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// startTimeout bounds a warm start; downloads and builds have no bound but the caller's.
	startTimeout = 3 * time.Minute
	// resumeTimeout is how long a cluster that was found running may take to be ready before it is started over.
	resumeTimeout = 45 * time.Second
)

// Up makes sure that a cluster of o.Nodes ready nodes runs in o.State, and returns it. It builds what the cache lacks
// (minutes), continues with a cluster that is there, adds and removes nodes, and starts over from one that is broken or
// was made by another version. It may be interrupted at any moment and called again.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := newProgress(o.Progress)
	a, err := prepare(ctx, o, p)
	if err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, filepath.Join(o.State, fileLock), p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := Open(o.State)
	if err != nil {
		c = nil // nothing usable is there, for whatever reason
	}
	// Before a cluster that runs is touched.
	if err := checkRoom(o.State, c.growth(o.Nodes), p); err != nil {
		return nil, err
	}
	if c, err := resume(ctx, c, o, a, p); c != nil || err != nil {
		return c, err
	}
	return start(ctx, o, a, p)
}

// Build makes everything a cluster needs in the cache, starts nothing, and returns the folder of the control plane's
// programs, which is also what envtest wants as KUBEBUILDER_ASSETS.
func Build(ctx context.Context, o Options) (bin string, err error) {
	if o, err = o.withDefaults(); err != nil {
		return "", err
	}
	a, err := prepare(ctx, o, newProgress(o.Progress))
	return a.Kubernetes, err
}

// BuildPrograms is Build without the nodes' root file system: it needs Go only, and no root.
func BuildPrograms(ctx context.Context, o Options) (bin string, err error) {
	if o, err = o.withDefaults(); err != nil {
		return "", err
	}
	a, err := buildAssets(ctx, o, newProgress(o.Progress), (*assets).buildKubernetes)
	return a.Kubernetes, err
}

func prepare(ctx context.Context, o Options, p *progress) (assets, error) {
	if err := checkMachine(p); err != nil {
		return assets{}, err
	}
	return buildAssets(ctx, o, p, (*assets).buildKubernetes, (*assets).buildPause, (*assets).buildRootfs)
}

// resume returns the cluster c, scaled and ready, or nil if it is none to go on with. A healthy one that cannot grow is
// an error, and left as it was: it is not given up for a wish that a new one would not meet either.
func resume(ctx context.Context, c *Cluster, o Options, a assets, p *progress) (*Cluster, error) {
	if c == nil {
		return nil, nil
	}
	if !c.state().compatible(a) {
		p.line("the running cluster is of another version: starting over")
		return nil, nil
	}
	if err := c.shrink(ctx, o.Nodes, p); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.line("the running cluster is not healthy: starting over (%v)", err)
		return nil, nil
	}
	if err := c.grow(ctx, o.Nodes, p); err != nil {
		return nil, err
	}
	p.line("cluster is up with %d nodes", o.Nodes)
	return c, nil
}

// start begins from nothing, after removing whatever an earlier cluster left.
func start(ctx context.Context, o Options, a assets, p *progress) (*Cluster, error) {
	group, err := clusterGroup(o)
	if err != nil {
		return nil, err
	}
	if err := destroy(ctx, o, group, true); err != nil {
		return nil, err
	}
	s := clusterState{Format: formatVersion, ID: o.id(), Assets: a}
	for n := 1; n <= o.Nodes; n++ {
		s.Nodes = append(s.Nodes, n)
	}
	if err := os.MkdirAll(filepath.Join(o.State, dirLogs), 0o755); err != nil {
		return nil, err
	}
	if err := s.write(o.State); err != nil {
		return nil, err
	}
	for _, g := range []cgroups{group, group.child(daemonGroup)} {
		if err := g.create(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := startDaemon(ctx, o, p); err != nil {
		return nil, err
	}
	return finishStart(ctx, o, p)
}

func finishStart(ctx context.Context, o Options, p *progress) (c *Cluster, err error) {
	if c, err = Open(o.State); err != nil {
		return nil, err
	}
	if err := c.waitControlPlane(ctx, p); err != nil {
		return nil, err
	}
	if err := c.waitReady(ctx, p); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) waitControlPlane(ctx context.Context, p *progress) (err error) {
	defer p.step("start the control plane")(&err)
	if err := waitAPI(ctx, c.Kubeconfig()); err != nil {
		return fmt.Errorf("%w\n%s", err, logTail(c.dir, "log/kube-apiserver.log"))
	}
	return nil
}

// startDaemon starts the daemon detached from this process and waits until it answers.
func startDaemon(ctx context.Context, o Options, p *progress) (err error) {
	defer p.step("start the daemon")(&err)
	// A copy, for "go run" and "go test" delete theirs when they end.
	program := filepath.Join(o.State, fileProgram)
	if err := copyProgram(program); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(o.State, daemonLog))
	if err != nil {
		return err
	}
	defer closeQuietly(out)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), roleVar+"="+roleDaemon, configVar+"="+o.State)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	ctx, ended := context.WithCancelCause(ctx)
	go func() { ended(fmt.Errorf("the daemon ended: %w", cmd.Wait())) }()
	err = poll(ctx, "the daemon", func() (bool, error) {
		_, err := ask[clusterState](ctx, o.State, http.MethodGet, "/nodes")
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%w (%w)\n%s", err, context.Cause(ctx), logTail(o.State, daemonLog))
	}
	return nil
}

func copyProgram(dst string) error {
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer closeQuietly(src)
	if err := os.Remove(dst); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, src)
	return errors.Join(err, f.Close())
}

// Down ends the cluster in state folder o.State, whatever condition it is in: afterwards none of its processes, mounts,
// network interfaces, namespaces and control groups exist. Logs stay in <State>/log. Without a cluster it does nothing.
func Down(ctx context.Context, o Options) (err error) {
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	if err := checkRoot(); err != nil {
		return err
	}
	p := newProgress(o.Progress)
	unlock, err := lockFile(ctx, filepath.Join(o.State, fileLock), p)
	if err != nil {
		return err
	}
	defer unlock()
	defer p.step("take the cluster down")(&err)
	group, err := clusterGroup(o)
	if err != nil {
		return err
	}
	return destroy(ctx, o, group, false)
}

func clusterGroup(o Options) (cgroups, error) {
	cg, err := machineCgroups()
	return cg.child(o.id()), err
}

// destroy needs no memory of the cluster: processes are found by their control group, and mounts, namespaces and
// network interfaces end with the last process in them.
func destroy(ctx context.Context, o Options, group cgroups, keepImages bool) error {
	if err := os.Remove(filepath.Join(o.State, fileCluster)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := group.destroy(ctx); err != nil {
		return err
	}
	return wipe(o.State, keepImages)
}

//go:build linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
)

// ErrNotRunning says that a state folder holds no running cluster.
var ErrNotRunning = errors.New("no cluster is running")

// Cluster is a running testbed. It is a view on the state folder: several may exist, in several processes. Its methods
// may be called at the same time.
type Cluster struct {
	dir   string
	group cgroups

	mu   sync.RWMutex
	last clusterState
}

// state is what the daemon said last.
func (c *Cluster) state() clusterState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.last
}

// Open returns the cluster that runs in a state folder ("" means the default), or an error that wraps ErrNotRunning.
func Open(state string) (*Cluster, error) {
	o, err := Options{State: state}.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: o.State}
	if c.group, err = clusterGroup(o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.refresh(ctx); err != nil {
		return nil, notRunning(o.State, err)
	}
	return c, nil
}

// notRunning drops causes that say no more than that nobody listens.
func notRunning(state string, cause error) error {
	err := fmt.Errorf("%w in %s: start one with \"testbed up\"", ErrNotRunning, state)
	if errors.Is(cause, unix.ENOENT) || errors.Is(cause, unix.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, cause)
}

func (c *Cluster) refresh(ctx context.Context) error {
	c.mu.Lock() // also while asking: an older answer must not replace a newer one
	defer c.mu.Unlock()
	state, err := ask[clusterState](ctx, c.dir, http.MethodGet, "/nodes")
	if err == nil {
		c.last = state
	}
	return err
}

// Kubeconfig returns the path of the administrator's client configuration, usable on this machine.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, fileConfig) }

// AuditLog returns the path of the API server's audit log: one JSON event a line for each write, with its user agent,
// and for what programs in pods read.
func (c *Cluster) AuditLog() string { return auditLog(c.dir) }

// Bin returns the folder of etcd, kube-apiserver, kubectl and the like, also for envtest.
func (c *Cluster) Bin() string { return c.state().Assets.Kubernetes }

// Rootfs returns the nodes' pristine root file system, a source of static programs such as bin/busybox for images.
// It must not be changed.
func (c *Cluster) Rootfs() string { return c.state().Assets.Rootfs }

// Registry returns the address of the image registry on this machine, "127.0.0.1:<port>".
func (c *Cluster) Registry() string { return c.state().RegistryAddr }

// Nodes returns the names of the cluster's nodes.
func (c *Cluster) Nodes() []string {
	var names []string
	for _, n := range c.state().Nodes {
		names = append(names, nodeName(n))
	}
	return names
}

// Down ends the cluster; see the function Down.
func (c *Cluster) Down(ctx context.Context) error { return Down(ctx, Options{State: c.dir}) }

// Load pushes the images of a docker archive or an OCI layout (tarball or folder) to the registry, under their own
// names and under further ones, and returns all names. Nodes can pull them by these names from any host.
func (c *Cluster) Load(ctx context.Context, file string, names ...string) ([]string, error) {
	return load(ctx, c.Registry(), file, names)
}

// Push pushes an image under a name as manifests use it ("ghcr.io/nvidia/x:1.0").
func (c *Cluster) Push(ctx context.Context, image v1.Image, name string) error {
	return push(ctx, c.Registry(), image, []string{name})
}

// PushIndex pushes an image for several platforms.
func (c *Cluster) PushIndex(ctx context.Context, index v1.ImageIndex, name string) error {
	return push(ctx, c.Registry(), index, []string{name})
}

// JoinNode starts one more node, with labels and taints to register with, waits until it is ready and returns its name.
func (c *Cluster) JoinNode(ctx context.Context, join Join) (string, error) {
	if err := checkRoom(c.dir, c.growth(len(c.state().Nodes)+1), newProgress(io.Discard)); err != nil {
		return "", err
	}
	n, err := ask[int](ctx, c.dir, http.MethodPost, "/nodes?"+join.query().Encode())
	if err != nil {
		return "", err
	}
	if err := c.refresh(ctx); err != nil {
		return "", err
	}
	cs, err := c.client()
	if err != nil {
		return "", err
	}
	return nodeName(n), waitNode(ctx, cs, nodeName(n))
}

// RemoveNode kills a node at once, as if it were switched off, and deletes its object.
func (c *Cluster) RemoveNode(ctx context.Context, node string) error {
	n, err := c.number(node)
	if err != nil {
		return err
	}
	if _, err := ask[int](ctx, c.dir, http.MethodDelete, "/nodes/"+strconv.Itoa(n)); err != nil {
		return err
	}
	cs, err := client(c.Kubeconfig())
	if err != nil {
		return err
	}
	if err := deleteNode(ctx, cs, node); err != nil {
		return err
	}
	return c.refresh(ctx)
}

// growth is from what runs to want nodes; c may be nil.
func (c *Cluster) growth(want int) growth {
	if c == nil {
		return growth{want: want}
	}
	return growth{running: true, have: len(c.state().Nodes), want: want}
}

// shrink removes nodes until there are no more than want, and waits until those that stay are ready.
func (c *Cluster) shrink(ctx context.Context, want int, p *progress) error {
	ctx, cancel := context.WithTimeout(ctx, resumeTimeout)
	defer cancel()
	for len(c.state().Nodes) > want {
		if err := c.RemoveNode(ctx, nodeName(slices.Max(c.state().Nodes))); err != nil {
			return err
		}
	}
	return c.waitReady(ctx, p)
}

// grow adds nodes until there are want, and waits until they are ready. If they do not become so, it removes them.
func (c *Cluster) grow(ctx context.Context, want int, p *progress) error {
	had := slices.Clone(c.state().Nodes)
	if len(had) >= want {
		return nil
	}
	err := c.addNodes(ctx, want, p)
	if err == nil || ctx.Err() != nil {
		return err
	}
	undo, cancel := killContext()
	defer cancel()
	for _, n := range slices.Clone(c.state().Nodes) {
		if slices.Contains(had, n) {
			continue
		}
		if failed := c.RemoveNode(undo, nodeName(n)); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return fmt.Errorf("nodes that were added did not become ready, and the cluster keeps its %d: %w", len(had), err)
}

func (c *Cluster) addNodes(ctx context.Context, want int, p *progress) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for len(c.state().Nodes) < want {
		if _, err := ask[int](ctx, c.dir, http.MethodPost, "/nodes"); err != nil {
			return err
		}
		if err := c.refresh(ctx); err != nil {
			return err
		}
	}
	return c.waitReady(ctx, p)
}

// waitReady waits until pods can run on all nodes; p may be nil.
func (c *Cluster) waitReady(ctx context.Context, p *progress) (err error) {
	if err := c.refresh(ctx); err != nil {
		return err
	}
	if p != nil {
		defer p.step("wait for %d ready nodes", len(c.state().Nodes))(&err)
	}
	cs, err := c.client()
	if err != nil {
		return err
	}
	return waitNodes(ctx, cs, c.state().Nodes)
}

func (c *Cluster) client() (kubernetes.Interface, error) { return client(c.Kubeconfig()) }

// number finds a node by its name.
func (c *Cluster) number(node string) (int, error) {
	for _, n := range c.state().Nodes {
		if nodeName(n) == node {
			return n, nil
		}
	}
	return 0, fmt.Errorf("there is no node %q; there are %v", node, c.Nodes())
}

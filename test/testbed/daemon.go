//go:build linux

package testbed

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// killTimeout bounds how long killed processes may take to be gone.
const killTimeout = 20 * time.Second

func killContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), killTimeout)
}

// daemon owns a running cluster. Its children die with it, by the kernel's hand.
type daemon struct {
	dir      string
	group    cgroups // the cluster's
	network  *netns
	registry *registry
	ca       *authority

	mu    sync.Mutex
	state clusterState
	nodes map[int]*node
}

// runDaemon serves the cluster in a state folder until it is killed. It only returns on failure.
func runDaemon(dir string) error {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	d := &daemon{dir: dir, nodes: map[int]*node{}}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.serveRegistry(); err != nil {
		return err
	}
	if err := d.startControlPlane(); err != nil {
		return err
	}
	for _, n := range slices.Clone(d.state.Nodes) {
		if err := d.startNode(n, Join{}); err != nil {
			return err
		}
	}
	if err := d.state.write(dir); err != nil {
		return err
	}
	return d.serveControl()
}

// open joins the cluster's control group before anything else: from there on whoever takes the cluster down finds this
// process. If the cluster was taken down meanwhile, group or state are gone and the daemon ends.
func (d *daemon) open() error {
	cg, err := machineCgroups()
	if err != nil {
		return err
	}
	d.group = cg.child(Options{State: d.dir}.id())
	if err := d.group.child(daemonGroup).join(); err != nil {
		return err
	}
	if d.state, err = readState(d.dir); err != nil {
		return err
	}
	if d.network, err = newNetwork(); err != nil {
		return err
	}
	d.ca, err = newAuthority()
	return err
}

// serveRegistry serves the nodes inside the network, and pushes from this machine at a port of its own.
func (d *daemon) serveRegistry() error {
	r, err := newRegistry(filepath.Join(d.dir, dirRegistry))
	if err != nil {
		return err
	}
	d.registry = r
	inside, err := d.network.listen(net.JoinHostPort(gatewayIP, strconv.Itoa(registryPort)))
	if err != nil {
		return err
	}
	outside, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.state.RegistryAddr = outside.Addr().String()
	for _, l := range []net.Listener{inside, outside} {
		go func() { log.Printf("registry: %v", http.Serve(l, r)) }()
	}
	return d.pushPause()
}

func (d *daemon) pushPause() error {
	image, err := ProgramImage(map[string]string{"pause": d.state.Assets.Pause}, "/pause")
	if err != nil {
		return err
	}
	return push(context.Background(), d.state.RegistryAddr, image, []string{pauseImage})
}

func (d *daemon) startControlPlane() error {
	api, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go forward(api, d.network, fmt.Sprintf("127.0.0.1:%d", apiPort))
	cp := controlPlane{bin: d.state.Assets.Kubernetes, state: d.dir}
	if err := cp.writeFiles(d.ca, "https://"+api.Addr().String()); err != nil {
		return err
	}
	ctx := context.Background()
	for _, p := range []program{{"etcd", cp.etcd()}, {"kube-apiserver", cp.apiServer()}} {
		go p.keepRunning(ctx, d.network, d.dir)
	}
	go func() {
		// Both give up when there is no API to talk to.
		if err := waitAPI(ctx, filepath.Join(d.dir, fileConfig)); err != nil {
			log.Printf("control plane: %v", err)
		}
		for _, p := range []program{{"kube-controller-manager", cp.controllerManager()}, {"kube-scheduler", cp.scheduler()}} {
			go p.keepRunning(ctx, d.network, d.dir)
		}
	}()
	return nil
}

// startNode makes and boots a node; the caller holds the lock, or is alone.
func (d *daemon) startNode(number int, join Join) error {
	n := &node{
		number: number, dir: filepath.Join(d.dir, dirNodes, nodeName(number)), assets: d.state.Assets,
		group: d.group.child(nodeName(number)),
	}
	if err := writeNodeFiles(n.dir, newNodeConfig(number, join), d.ca); err != nil {
		return fmt.Errorf("%s: %w", nodeName(number), err)
	}
	var err error
	if n.net, err = attachNode(d.network, number); err != nil {
		return err
	}
	d.nodes[number] = n
	n.boot()
	return nil
}

// addNode starts one more node and returns its number.
func (d *daemon) addNode(join Join) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number := d.state.nextNode()
	if number > MaxNodes {
		return 0, fmt.Errorf("there are %d nodes, the most there can be", MaxNodes)
	}
	if err := d.startNode(number, join); err != nil {
		return 0, err
	}
	d.state.Nodes = append(d.state.Nodes, number)
	return number, d.state.write(d.dir)
}

// removeNode kills a node and all it had.
func (d *daemon) removeNode(number int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.node(number)
	if err != nil {
		return err
	}
	if err := n.stop(d.network); err != nil {
		return fmt.Errorf("stop %s: %w", nodeName(number), err)
	}
	delete(d.nodes, number)
	d.state.Nodes = slices.DeleteFunc(d.state.Nodes, func(x int) bool { return x == number })
	return d.state.write(d.dir)
}

// bootNode starts a node that powered off.
func (d *daemon) bootNode(number int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.node(number)
	if err == nil {
		n.boot()
	}
	return err
}

// node returns one that there is; the caller holds the lock.
func (d *daemon) node(number int) (*node, error) {
	if n, ok := d.nodes[number]; ok {
		return n, nil
	}
	return nil, fmt.Errorf("there is no %s", nodeName(number))
}

// listenSocket replaces the socket of an earlier daemon.
func listenSocket(dir string) (net.Listener, error) {
	path := filepath.Join(dir, fileSocket)
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

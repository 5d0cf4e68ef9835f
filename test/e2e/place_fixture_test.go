//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// place is where a test is at work: a cluster, and the nodes there that it has for itself.
type place struct {
	*bed
	nodes []string
	// value of testLabel on its nodes.
	value string
}

// Nodes are the test's own.
func (p *place) Nodes() []string { return slices.Clone(p.nodes) }

var (
	// places by the names of tests.
	places sync.Map
	placed atomic.Int32
	// pool has the nodes of the shared cluster that no test works on.
	pool = &nodePool{}
	// whole is the other cluster, which one test has at a time.
	whole sync.Mutex
)

// here is where the test, or the one around it, is at work.
func here(t *testing.T) *place {
	t.Helper()
	for name := t.Name(); ; {
		if p, ok := places.Load(name); ok {
			return p.(*place)
		}
		cut := strings.LastIndexByte(name, '/')
		if cut < 0 {
			t.Fatal("the test is nowhere: it has to call ownNodes or alone first")
		}
		name = name[:cut]
	}
}

// ownNodes runs the test beside others and gives it that many nodes of its own, in the shared cluster: Skyhooks on one
// node would wait for each other. A test takes all that it needs at once, so that none waits for another one's.
func ownNodes(t *testing.T, count int) []string {
	t.Helper()
	t.Parallel()
	if err := shared.up(); err != nil {
		t.Fatal(err)
	}
	nodes := pool.take(count)
	t.Cleanup(func() { pool.release(nodes) })
	settle(t, &place{bed: shared, nodes: nodes, value: fmt.Sprintf("test-%d", placed.Add(1))})
	return slices.Clone(nodes)
}

func ownNode(t *testing.T) string {
	t.Helper()
	return ownNodes(t, 1)[0]
}

// ownCluster runs the test beside those of the shared cluster, with the other cluster and its operator for itself.
func ownCluster(t *testing.T) []string {
	t.Helper()
	t.Parallel()
	whole.Lock()
	t.Cleanup(whole.Unlock)
	if err := alone.up(); err != nil {
		t.Fatal(err)
	}
	nodes := alone.Nodes()
	settle(t, &place{bed: alone, nodes: nodes, value: "demo"})
	return nodes
}

func settle(t *testing.T, p *place) {
	t.Helper()
	places.Store(t.Name(), p)
	began := time.Now() // what go test tells includes the wait for nodes
	t.Cleanup(func() { t.Logf("had %v for %.1f s", p.nodes, time.Since(began).Seconds()) })
}

// nodePool gives out nodes. Who wants most comes first, and nobody overtakes: else those would wait until the end.
type nodePool struct {
	mu      sync.Mutex
	opened  bool
	free    []string
	waiting []request
}

type request struct {
	count int
	nodes chan []string
}

func (p *nodePool) take(count int) []string {
	r := request{count, make(chan []string, 1)}
	p.mu.Lock()
	if !p.opened {
		p.opened, p.free = true, shared.Nodes()[operatorNodes:]
	}
	p.waiting = append(p.waiting, r)
	p.serve()
	p.mu.Unlock()
	return <-r.nodes
}

func (p *nodePool) release(nodes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, nodes...)
	p.serve()
}

func (p *nodePool) serve() {
	slices.SortStableFunc(p.waiting, func(a, b request) int { return cmp.Compare(b.count, a.count) })
	for len(p.waiting) > 0 && p.waiting[0].count <= len(p.free) {
		r := p.waiting[0]
		p.waiting = p.waiting[1:]
		r.nodes <- slices.Sorted(slices.Values(p.free[:r.count]))
		p.free = p.free[r.count:]
	}
}

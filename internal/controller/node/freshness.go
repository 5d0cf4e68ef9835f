package node

import (
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// freshness lets a pass wait until the cache shows what the pass before wrote. It saves requests that the API server
// would refuse, and passes that would not see their own pods. After a restart the cache begins with a new list, and
// preconditions do the rest.
//
// It goes by names: passes over one node never overlap, so that the one that finds the node gone is the last.
type freshness struct {
	mu    sync.Mutex
	nodes map[string]written
}

// written is what one pass over a node left at the API server.
type written struct {
	node             types.UID
	resourceVersion  string
	created, removed []types.UID
	at               time.Time
}

const (
	// freshPatience bounds the wait for pods: one that somebody deleted at once never shows up.
	freshPatience = 10 * time.Second
	// freshRetry is when to look again; usually an event comes first.
	freshRetry = 20 * time.Millisecond
)

func (f *freshness) note(node *corev1.Node, w written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.nodes = map[string]written{}
	}
	w.node = node.UID
	f.nodes[node.Name] = w
}

// forget drops a node that is gone.
func (f *freshness) forget(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, node)
}

// behind reports whether the cache does not show the last pass's writes yet.
func (f *freshness) behind(node *corev1.Node, pods []corev1.Pod, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.nodes[node.Name]
	if !ok {
		return false
	}
	if w.node != node.UID {
		delete(f.nodes, node.Name) // another node of that name
		return false
	}
	if older(node.ResourceVersion, w.resourceVersion) || now.Sub(w.at) < freshPatience && !shows(pods, w) {
		return true
	}
	delete(f.nodes, node.Name)
	return false
}

// older compares resource versions, which the API server counts up.
func older(have, want string) bool {
	h, errHave := strconv.ParseUint(have, 10, 64)
	w, errWant := strconv.ParseUint(want, 10, 64)
	return errHave == nil && errWant == nil && h < w
}

func shows(pods []corev1.Pod, w written) bool {
	present := func(uid types.UID) bool {
		return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == uid })
	}
	for _, uid := range w.created {
		if !present(uid) {
			return false
		}
	}
	return !slices.ContainsFunc(w.removed, present)
}

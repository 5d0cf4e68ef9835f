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
	created, removed []writtenPod
	at               time.Time
}

type writtenPod struct {
	name string
	uid  types.UID
}

const (
	// freshPatience is how long pods are waited for before the API server is asked: one that somebody deleted at once never
	// shows up, and one that does not go may have a finalizer.
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

func (f *freshness) noted(node string) (written, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.nodes[node]
	return w, ok
}

// forget drops a node that is gone, or whose writes the cache shows.
func (f *freshness) forget(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, node)
}

// behind reports whether the cache does not show the last pass's writes yet. After a while it asks the API server whether
// there is anything left to wait for: to take a pod that runs for one that is gone could uncordon a node that reboots.
func (f *freshness) behind(node *corev1.Node, pods []corev1.Pod, now time.Time, exists func(writtenPod) (bool, error)) (bool, error) {
	w, ok := f.noted(node.Name)
	switch {
	case !ok:
		return false, nil
	case w.node != node.UID: // another node of that name
		f.forget(node.Name)
		return false, nil
	case older(node.ResourceVersion, w.resourceVersion):
		return true, nil
	}
	w.created, w.removed = unseen(pods, w.created, false), unseen(pods, w.removed, true)
	if len(w.created)+len(w.removed) > 0 && now.Sub(w.at) >= freshPatience {
		var err error
		if w.created, err = filter(w.created, exists, true); err == nil {
			w.removed, err = filter(w.removed, exists, false)
		}
		if err != nil {
			return true, err
		}
		w.at = now
		f.note(node, w)
	}
	if len(w.created)+len(w.removed) > 0 {
		return true, nil
	}
	f.forget(node.Name)
	return false, nil
}

// unseen returns those of the written pods that are among the cached ones, or that are not.
func unseen(cached []corev1.Pod, wrote []writtenPod, present bool) []writtenPod {
	var list []writtenPod
	for _, w := range wrote {
		if slices.ContainsFunc(cached, func(p corev1.Pod) bool { return p.UID == w.uid }) == present {
			list = append(list, w)
		}
	}
	return list
}

// filter returns the pods that the API server has, or that it has not.
func filter(pods []writtenPod, exists func(writtenPod) (bool, error), want bool) ([]writtenPod, error) {
	var list []writtenPod
	for _, p := range pods {
		is, err := exists(p)
		if err != nil {
			return nil, err
		}
		if is == want {
			list = append(list, p)
		}
	}
	return list, nil
}

// older compares resource versions, which the API server counts up.
func older(have, want string) bool {
	h, errHave := strconv.ParseUint(have, 10, 64)
	w, errWant := strconv.ParseUint(want, 10, 64)
	return errHave == nil && errWant == nil && h < w
}

package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written is what one pass over a node left at the API server, and whether that was asked for the pods that another
// process may have left, see prove.
type written struct {
	resourceVersion  string
	created, removed []writtenPod
	at               time.Time
	// proved says that the cache had all package pods of the node once; those since then are among the created.
	proved bool
	// doubted is since when the API server has not said so although it was asked; zero when it was not.
	doubted time.Time
}

type writtenPod struct {
	name string
	uid  types.UID
}

const (
	// freshPatience is how long the cache is waited for before the API server is asked: a pod that somebody deleted at
	// once never shows up, and one that does not go may have a finalizer.
	freshPatience = 10 * time.Second
	// freshRetry is when to look again first; from then on after as long as it was waited, up to freshRetryMost. Usually an
	// event comes before.
	freshRetry     = 20 * time.Millisecond
	freshRetryMost = time.Second
)

// behind reports whether the cache does not show the last pass's writes yet. That saves requests which the API server
// would refuse, and passes that would not see their own pods. After a while it asks the API server whether there is
// anything left to wait for: to take a pod that runs for one that is gone could uncordon a node that reboots. The error
// says what is missing then.
func (p *pass) behind(ctx context.Context) (bool, error) {
	w := p.known.wrote
	late := p.wrote.at.Sub(w.at) >= freshPatience
	if older(p.node.ResourceVersion, w.resourceVersion) {
		if !late {
			return true, nil
		}
		if err := p.stillNewer(ctx, &w); err != nil {
			return true, err
		}
	}
	w.created, w.removed = unseen(p.pods, w.created, false), unseen(p.pods, w.removed, true)
	if len(w.created)+len(w.removed) > 0 && !late {
		return true, nil
	}
	if err := p.stillUnseen(ctx, &w); err != nil {
		return true, err
	}
	w.created, w.removed = nil, nil
	p.known.wrote, p.wrote.proved = w, w.proved
	return false, nil
}

// stillNewer asks the API server for a node that the cache shows older than it was written. One that was restored from
// a backup counts from an earlier version again, and what was known of its pods says nothing any more. The error says
// that it is newer.
func (p *pass) stillNewer(ctx context.Context, w *written) error {
	node := p.node
	var live corev1.Node
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(node), &live); err != nil {
		return fmt.Errorf("get node %s: %w", node.Name, err)
	}
	if live.UID == node.UID && older(live.ResourceVersion, w.resourceVersion) {
		w.resourceVersion, w.proved = live.ResourceVersion, false
	}
	if !older(node.ResourceVersion, w.resourceVersion) {
		return nil
	}
	return fmt.Errorf("the cache has resourceVersion %s of node %s, the API server has had %s for %s or more",
		node.ResourceVersion, node.Name, w.resourceVersion, freshPatience)
}

// stillUnseen asks the API server for the pods that the cache should show, or should not. The error says that it has
// them, or has not. One without the label by which we cache pods never shows up: that the cache has all pods has to be
// proved again.
func (p *pass) stillUnseen(ctx context.Context, w *written) error {
	for _, pod := range w.created {
		live, err := p.livePod(ctx, pod)
		switch {
		case err != nil:
			return err
		case live != nil && unlabelled(live) == nil:
			return fmt.Errorf("pod %s was created %s ago or more, and the cache does not show it", pod.name, freshPatience)
		case live != nil:
			w.proved = false
		}
	}
	for _, pod := range w.removed {
		live, err := p.livePod(ctx, pod)
		if err != nil {
			return err
		}
		if live == nil {
			return fmt.Errorf("pod %s is gone for %s or more, and the cache still shows it", pod.name, freshPatience)
		}
	}
	return nil
}

// livePod returns a pod that this operator wrote; nil when the API server has none, or another of its name.
func (p *pass) livePod(ctx context.Context, pod writtenPod) (*corev1.Pod, error) {
	var live corev1.Pod
	err := p.Live.Get(ctx, types.NamespacedName{Namespace: p.Workload.Namespace, Name: pod.name}, &live)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get pod %s: %w", pod.name, err)
	}
	if live.UID != pod.uid { // nor has what was not found
		return nil, nil //nolint:nilnil // there is none
	}
	return &live, nil
}

// unseen returns those of the written pods that are among the cached ones, or that are not.
func unseen(cached []*corev1.Pod, wrote []writtenPod, present bool) []writtenPod {
	var list []writtenPod
	for _, w := range wrote {
		if slices.ContainsFunc(cached, func(p *corev1.Pod) bool { return p.UID == w.uid }) == present {
			list = append(list, w)
		}
	}
	return list
}

// older compares resource versions, which the API server counts up.
func older(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order < 0
}

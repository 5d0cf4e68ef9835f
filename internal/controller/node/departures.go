package node

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// departures tell of package pods of which nothing had begun whether that was still so when they went. Passes see a pod,
// and later none; only the event of its deletion has the last status, in which a kubelet says what it ran. Of a pod whose
// deletion nobody watched nothing is known, so a restart, which forgets all of them, has nobody believe what is not proved.
type departures struct {
	mu sync.Mutex
	// nodes has, by the name of the node and the UID, the pods that passes saw before they began.
	nodes map[string]map[types.UID]*departure
}

// departure is one pod: present, or gone as far as the last event says, or missed by a pass while no event came yet.
type departure struct {
	last   *corev1.Pod
	gone   bool
	missed time.Time
}

// follow notes those of the pods of a node for which it matters whether they begin, until they do. It returns the last
// state of those that went without since settle was called, and whether an event is on its way that tells of another one.
func (d *departures) follow(
	node string, pods []*corev1.Pod, matters func(*corev1.Pod) bool, now time.Time,
) (unbegun []*corev1.Pod, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.nodes[node]
	present := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		present[pod.UID] = true
		switch {
		case !matters(pod):
			delete(known, pod.UID)
		case known[pod.UID] == nil:
			known = d.of(node)
			known[pod.UID] = &departure{last: pod}
		}
	}
	for uid, one := range known {
		switch {
		case present[uid]:
		case one.gone:
			unbegun = append(unbegun, one.last)
		case one.missed.IsZero():
			one.missed, waits = now, true
		case now.Sub(one.missed) >= freshPatience:
			delete(known, uid)
		default:
			waits = true
		}
	}
	return unbegun, waits
}

func (d *departures) of(node string) map[types.UID]*departure {
	if d.nodes == nil {
		d.nodes = map[string]map[types.UID]*departure{}
	}
	if d.nodes[node] == nil {
		d.nodes[node] = map[types.UID]*departure{}
	}
	return d.nodes[node]
}

// went notes that a pod is gone; last is false if its last status is not known.
func (d *departures) went(pod *corev1.Pod, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.nodes[pod.Spec.NodeName]
	switch one := known[pod.UID]; {
	case one == nil:
	case last && unstarted(pod) && workload.ToldItsEnd(pod):
		one.last, one.gone = pod, true
	default:
		delete(known, pod.UID)
	}
}

// settle forgets pods that follow returned, as the record tells of them now.
func (d *departures) settle(node string, unbegun []*corev1.Pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pod := range unbegun {
		delete(d.nodes[node], pod.UID)
	}
	if len(d.nodes[node]) == 0 {
		delete(d.nodes, node)
	}
}

// forget drops all of a node that is gone.
func (d *departures) forget(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}

func unstarted(pod *corev1.Pod) bool {
	seen, err := workload.Observe(pod)
	return err == nil && !seen.Begun
}

// untouched reports whether nothing of a pod has begun, nor of its package version on this node, as far as is known.
func (p *pass) untouched(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	seen, err := workload.Observe(pod)
	n, _ := p.Records.Read(owner.Name, p.node)
	return err == nil && !seen.Begun && n.Packages[record.Key(seen.Package, seen.Version)].Untouched
}

// podHandler wakes the node of a pod, and notes how pods go before that.
func (r *Reconciler) podHandler() handler.EventHandler {
	wake := handler.EnqueueRequestsFromMapFunc(nodeOfPod)
	went := func(o client.Object, last bool) {
		if pod, ok := o.(*corev1.Pod); ok {
			r.departures.went(pod, last)
		}
	}
	return handler.Funcs{
		CreateFunc: wake.Create,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q state.Queue) {
			if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
				went(e.ObjectOld, false) // another has its name, and nobody saw it go
			}
			wake.Update(ctx, e, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q state.Queue) {
			went(e.Object, !e.DeleteStateUnknown)
			wake.Delete(ctx, e, q)
		},
	}
}

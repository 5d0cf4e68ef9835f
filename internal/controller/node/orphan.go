package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// clearOrphans removes what a Skyhook left that was deleted without its finalizer: labels, the cordon, the permit. What
// was installed stays recorded.
func (r *Reconciler) clearOrphans(ctx context.Context, p *pass) record.Patch {
	var all record.Patch
	cordons := map[string]bool{}
	maps.Copy(cordons, p.cordons)
	lift := false
	for _, name := range p.recorded() {
		if slices.ContainsFunc(p.skyhooks, func(s *v1alpha1.Skyhook) bool { return s.Name == name }) {
			continue
		}
		n, _ := r.Records.Read(name, p.node) // unreadable states stay as they are
		if cordons[name] = n.Cordoned; p.hasPodsOf(name) {
			continue
		}
		n.Done = ""
		change := record.Clear(name, n, p.node.Annotations, p.node.Labels)
		if change.Empty() && !p.inFlight.OwnedBy(name) {
			continue
		}
		if n.Cordoned || p.inFlight.OwnedBy(name) {
			if err := r.prove(ctx, p); err != nil {
				continue // noted; its cordon and its interrupt stay
			}
		}
		gone, err := r.gone(ctx, name)
		if err != nil {
			p.errs = append(p.errs, err)
		}
		if !gone {
			continue // the cache has yet to show it
		}
		if p.inFlight.OwnedBy(name) {
			p.inFlight = nil
		}
		all.Merge(change)
		lift = lift || n.Cordoned
		cordons[name] = false
	}
	if lift && !slices.Contains(slices.Collect(maps.Values(cordons)), true) {
		p.unschedulable = false // nobody holds the node any more
	}
	return all
}

// recorded are the names of the Skyhooks of which the node has a record, or the interrupt in flight.
func (p *pass) recorded() []string {
	names := record.Skyhooks(p.node.Annotations, p.node.Labels)
	if p.inFlight != nil && !slices.Contains(names, p.inFlight.Skyhook) {
		names = append(names, p.inFlight.Skyhook)
	}
	return names
}

// hasPodsOf reports whether pods of a Skyhook are on the node; garbage collection removes those of one that is gone.
func (p *pass) hasPodsOf(skyhook string) bool {
	return slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool { return pod.Labels[v1alpha1.LabelName] == skyhook })
}

func (r *Reconciler) gone(ctx context.Context, name string) (bool, error) {
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Skyhook{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Skyhook %s: %w", name, err)
	}
	return false, nil
}

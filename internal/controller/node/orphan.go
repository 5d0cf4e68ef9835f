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

// clearOrphans removes what Skyhooks left that were deleted without their finalizer: labels, the cordon, the permit.
// What was installed stays recorded.
func (p *pass) clearOrphans(ctx context.Context) record.Patch {
	var all record.Patch
	cordons := map[string]bool{}
	maps.Copy(cordons, p.cordons)
	lift := false
	for _, name := range p.orphans() {
		n, _ := p.Records.Read(name, p.node) // unreadable states stay as they are
		cordons[name] = n.Cordoned
		if change, cleared := p.clearOrphan(ctx, name, n); cleared {
			all.Merge(change)
			lift = lift || n.Cordoned
			cordons[name] = false
		}
	}
	if lift && !slices.Contains(slices.Collect(maps.Values(cordons)), true) {
		p.unschedulable = false // nobody holds the node any more
	}
	return all
}

// clearOrphan returns the change that removes what one Skyhook left, and ends its interrupt in flight; false when there
// is nothing to remove, or it must stay for now.
func (p *pass) clearOrphan(ctx context.Context, name string, n record.Node) (record.Patch, bool) {
	interrupts := p.inFlight.OwnedBy(name)
	n.FinishedPermit = ""
	change := record.Clear(name, n, p.node.Annotations, p.node.Labels)
	if p.hasPodsOf(name) || change.Empty() && !interrupts {
		return record.Patch{}, false
	}
	if n.Cordoned || interrupts {
		if err := p.prove(ctx); err != nil {
			return record.Patch{}, false // noted; its cordon and its interrupt stay
		}
	}
	gone, err := p.gone(ctx, name)
	if err != nil {
		p.errs = append(p.errs, err)
	}
	if !gone {
		return record.Patch{}, false // the cache has yet to show it
	}
	if interrupts {
		p.inFlight = nil
	}
	return change, true
}

// orphans are the names of the Skyhooks that do not exist, and of which the node has a record or the interrupt in flight.
func (p *pass) orphans() []string {
	names := record.Skyhooks(p.node.Annotations, p.node.Labels)
	if p.inFlight != nil && !slices.Contains(names, p.inFlight.Skyhook) {
		names = append(names, p.inFlight.Skyhook)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(p.skyhooks, func(s *v1alpha1.Skyhook) bool { return s.Name == name })
	})
}

// hasPodsOf reports whether pods of a Skyhook are on the node; garbage collection removes those of one that is gone.
func (p *pass) hasPodsOf(skyhook string) bool {
	return slices.ContainsFunc(p.pods, func(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelName] == skyhook })
}

func (p *pass) gone(ctx context.Context, name string) (bool, error) {
	err := p.Live.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Skyhook{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Skyhook %s: %w", name, err)
	}
	return false, nil
}

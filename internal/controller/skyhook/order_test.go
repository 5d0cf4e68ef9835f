package skyhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// shuffled lists in another order each time, as a cache does.
type shuffled struct {
	client.Client
	random *rand.Rand
}

func (s shuffled) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := s.Client.List(ctx, list, opts...)
	switch l := list.(type) {
	case *corev1.NodeList:
		s.random.Shuffle(len(l.Items), func(i, k int) { l.Items[i], l.Items[k] = l.Items[k], l.Items[i] })
	case *v1alpha1.SkyhookList:
		s.random.Shuffle(len(l.Items), func(i, k int) { l.Items[i], l.Items[k] = l.Items[k], l.Items[i] })
	case *appsv1.ControllerRevisionList:
		s.random.Shuffle(len(l.Items), func(i, k int) { l.Items[i], l.Items[k] = l.Items[k], l.Items[i] })
	}
	return err
}

// TestStatusOfAnyOrder: what caches list first decides nothing.
func TestStatusOfAnyOrder(t *testing.T) {
	s := newSkyhook("demo")
	delete(s.Spec.Packages, "a")
	s.Spec.Packages["b"] = v1alpha1.Package{Version: "1.0.0", Image: "x/b", Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true), Apply: true}}
	s.Spec.Packages["c"] = v1alpha1.Package{Version: "1.0.0", Image: "x/c", DependsOn: map[string]string{"b": "1.0.0"}}
	s.Spec.Priority, s.Spec.InterruptionBudget.Count = 9, new(2)
	s.Status.Permits = []v1alpha1.Permit{{Node: "left", Generation: 1}, {Node: "left-too", Order: 1, Generation: 1}}
	objects := []client.Object{
		s, revisionOf(t, undoable(1, "1.0.0", v1alpha1.WhenRemovedUninstall), 1), revisionOf(t, undoable(2, "2.0.0", ""), 1),
		newNode("left", "other"), newNode("left-too", "other"),
	}
	for _, name := range []string{"x", "y"} { // both come first, one after the other
		earlier := newSkyhook(name)
		earlier.Spec.NodeSelectors.MatchLabels["first"] = name
		objects = append(objects, earlier)
	}
	for i := range 24 {
		var n *corev1.Node
		switch name := fmt.Sprintf("n%02d", i); i % 4 {
		case 0:
			n = has(t, name, undoable(1, "1.0.0", v1alpha1.WhenRemovedUninstall), failing)
		case 1:
			n = has(t, name, undoable(2, "2.0.0", ""), nil)
		case 2:
			n = newNode(name, "gpu")
			n.Labels["first"] = []string{"x", "y"}[i/4%2]
		default:
			n = newNode(name, "gpu")
			remember(t, n, "demo", record.Node{FinishedPermit: "1/7"})
			n.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
		}
		if i%3 > 0 {
			n = ready(n)
		}
		objects = append(objects, n)
	}
	w := newWorld(t, objects...)
	plain := w.Client
	plan := func() v1alpha1.SkyhookStatus {
		p := w.reads(s)
		return rollout.Plan(p.in)
	}
	want := plan()
	for seed := range uint64(20) {
		w.Client = shuffled{plain, rand.New(rand.NewPCG(seed, 0))}
		w.Targets = &state.Index{}
		if diff := cmp.Diff(want, plan()); diff != "" {
			t.Fatalf("seed %d: another order, another status:\n%s", seed, diff)
		}
	}
}

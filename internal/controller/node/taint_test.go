package node

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// TestTaintWaitsForWhatTheCacheLacks: a new leader may not see a Skyhook yet of which the node has a record, and that
// workloads wait for.
func TestTaintWaitsForWhatTheCacheLacks(t *testing.T) {
	for gone, stays := range map[bool]bool{false: true, true: false} {
		s, n := waitedFor(fromTheBeginning)
		s.Status.SealedSince, s.Status.Permits = nil, nil
		late := newSkyhook("late")
		late.Spec.RuntimeRequired = true
		n.Spec.Taints = []corev1.Taint{runtimeTaint}
		remember(t, n, "demo", completeRecord())
		remember(t, n, "late", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
		w := sealedWorld(t, s, n)
		if !gone {
			w.Live = newWorld(t, late).Client
		}
		got := w.reconcile()
		if taint.Has(w.node(), runtimeTaint) != stays || stays && got.RequeueAfter == 0 {
			t.Errorf("gone %t: taints %v, looks again in %s", gone, w.node().Spec.Taints, got.RequeueAfter)
		}
	}
}

// TestNothingStartsBesideANewTaint: a Skyhook that does not tolerate the taint must not begin in the pass that adds it,
// and no other request comes before it.
func TestNothingStartsBesideANewTaint(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Spec.AutoTaintNewNodes = true
	general := newSkyhook("general")
	general.Spec.Priority = 1
	w := newWorld(t, s, general, n)
	w.Workload.RuntimeTaint = runtimeTaint
	asked := 0
	w.changeLive(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			asked++
			return w.list(ctx, c, l, opts...)
		},
	})
	w.reconcile()
	if !taint.Has(w.node(), runtimeTaint) || len(w.pods()) != 0 || asked != 0 || strings.Join(w.order, " ") != "record" {
		t.Fatalf("taints %v, %d pods, asked %d times, wrote %v", w.node().Spec.Taints, len(w.pods()), asked, w.order)
	}
	w.reconcile()
	if pods := w.pods(); len(pods) != 1 || pods[0].Labels[v1alpha1.LabelName] != "demo" {
		t.Errorf("started %v", pods)
	}
}

// TestTaintOfANewNodeComesFirst: between two writes a workload may be bound.
func TestTaintOfANewNodeComesFirst(t *testing.T) {
	for added, want := range map[bool]string{true: "record conditions", false: "conditions record"} {
		n := newNode()
		w := newWorld(t, n)
		s := newSkyhook("demo")
		p := w.pass(s)
		p.items = []*item{{skyhook: s, decision: lifecycle.Decision{Record: record.Node{Status: "blocked"}}}}
		p.taint = taint.Change{Taints: &[]corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}
		if added {
			p.taint.Mark = new(true)
		}
		w.execute(t.Context(), p)
		if got := strings.Join(w.order, " "); len(p.errs) != 0 || got != want {
			t.Errorf("added %t: wrote %s, want %s; %v", added, got, want, p.errs)
		}
		if p.wrote.resourceVersion != w.node().ResourceVersion {
			t.Error("the last write is not the one that is remembered")
		}
	}
}

package node

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

const (
	sealKey  = "node-restriction.kubernetes.io/skyhook_demo"
	stateKey = "skyhook.nvidia.com/nodeState_demo"
)

var runtimeTaint = corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}

// waitedFor is a Skyhook that workloads wait for. It was created an hour before sealing began, unless that is from its
// beginning; the node, between the two.
func waitedFor(sealed time.Time) (*v1alpha1.Skyhook, *corev1.Node) {
	s, n := newSkyhook("demo"), newNode()
	s.Spec.RuntimeRequired = true
	s.CreationTimestamp, n.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour)), metav1.NewTime(start.Add(-time.Minute))
	s.Status.SealedSince = new(metav1.NewTime(sealed))
	return s, n
}

var fromTheBeginning, afterTheNode = start.Add(-time.Hour), start

func completeRecord() record.Node {
	r := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	for key, e := range r.Packages {
		e.Config = map[string]string{}
		r.Packages[key] = e
	}
	r.Status = v1alpha1.StatusComplete
	return r
}

func (w *world) edit(change func(*corev1.Node)) {
	w.t.Helper()
	n := w.node()
	change(n)
	w.must(w.Client.Update(w.t.Context(), n))
}

// claimComplete is what a kubelet can do to the record on its node.
func claimComplete(t *testing.T) func(*corev1.Node) {
	t.Helper()
	forged := newNode()
	remember(t, forged, "demo", completeRecord())
	return func(n *corev1.Node) { maps.Copy(n.Annotations, forged.Annotations) }
}

// sealHolds reports whether the record is as the operator wrote it.
func (w *world) sealHolds(s *v1alpha1.Skyhook) bool {
	w.t.Helper()
	n := w.node()
	return state.SealOf(s, n).Holds(n.Annotations, n.Labels)
}

func sealedWorld(t *testing.T, s *v1alpha1.Skyhook, n *corev1.Node) *world {
	t.Helper()
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint = runtimeTaint
	return w
}

// TestForgedRecordKeepsTheTaint: what a kubelet writes lets no workload in, and the administrator hears of it. Without
// the annotation the node starts over.
func TestForgedRecordKeepsTheTaint(t *testing.T) {
	for name, forge := range map[string]func(*testing.T, *corev1.Node){
		"before the operator came": func(t *testing.T, n *corev1.Node) {
			t.Helper()
			remember(t, n, "demo", completeRecord())
		},
		"with a seal that somebody made up": func(t *testing.T, n *corev1.Node) {
			t.Helper()
			remember(t, n, "demo", completeRecord())
			n.Labels[sealKey] = strings.Repeat("0", 40)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, n := waitedFor(fromTheBeginning)
			n.Spec.Taints = []corev1.Taint{runtimeTaint}
			forge(t, n)
			was := n.Labels[sealKey]
			w := sealedWorld(t, s, n)
			w.tries(3)
			n = w.node()
			got := w.record("demo")
			if !taint.Has(n, runtimeTaint) || len(w.pods()) > 0 || n.Labels[sealKey] != was || got.FinishedPermit == "" || len(w.bodies) != 1 {
				t.Errorf("the node has %v %v, pods %v, wrote %v", n.Spec.Taints, n.Labels, w.pods(), w.bodies)
			}
			if got.Wait == nil || got.Wait.Reason != v1alpha1.ReasonNodeStateUnsealed || !strings.Contains(got.Wait.Message, stateKey) {
				t.Errorf("it waits for %+v", got.Wait)
			}
			w.edit(func(n *corev1.Node) {
				delete(n.Annotations, stateKey)
				delete(n.Annotations, "skyhook.nvidia.com/permit_demo") // the next permit
			})
			w.tries(1)
			if len(w.pods()) != 1 || !taint.Has(w.node(), runtimeTaint) || !w.sealHolds(s) {
				t.Errorf("after that the node has %v, pods %v", w.node().ObjectMeta, w.pods())
			}
		})
	}
}

// TestForgedLater: the operator's own record, edited while it works.
func TestForgedLater(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	n.Spec.Taints = []corev1.Taint{runtimeTaint}
	w := sealedWorld(t, s, n)
	w.tries(1)
	if !w.sealHolds(s) || len(w.pods()) != 1 || len(w.bodies) != 1 {
		t.Fatalf("the node has %v after %v", w.node().ObjectMeta, w.bodies)
	}
	written := w.node().Annotations[stateKey]
	w.edit(claimComplete(t))
	w.tries(1)
	if n := w.node(); !taint.Has(n, runtimeTaint) || n.Annotations["skyhook.nvidia.com/status_demo"] != "blocked" {
		t.Errorf("the node has %v, taints %v", n.ObjectMeta, n.Spec.Taints)
	}
	w.edit(func(n *corev1.Node) { n.Annotations[stateKey] = written })
	w.tries(1)
	if n := w.node(); n.Annotations["skyhook.nvidia.com/status_demo"] == "blocked" || !w.sealHolds(s) {
		t.Errorf("put back as it was, the node has %v", n.ObjectMeta)
	}
}

// TestSealWithoutTaint: nothing depends on it, so it follows the record, with its write or by itself, and then no more.
func TestSealWithoutTaint(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	remember(t, n, "demo", completeRecord())
	w := sealedWorld(t, s, n)
	for _, want := range []string{"nodeState_demo", "", sealKey, ""} {
		w.bodies = nil
		if want == sealKey {
			w.edit(func(n *corev1.Node) { n.Labels[sealKey] = "another" })
		}
		w.tries(1)
		body := strings.Join(w.bodies, " ")
		if !w.sealHolds(s) || want == "" && body != "" || !strings.Contains(body, want) || want == sealKey && strings.Contains(body, "annotations") {
			t.Errorf("wrote %s, the node has %v", body, w.node().Labels)
		}
	}
}

// TestRecordFromBeforeSealing: after an upgrade of the operator no node is held up.
func TestRecordFromBeforeSealing(t *testing.T) {
	s, n := waitedFor(afterTheNode)
	n.Spec.Taints = []corev1.Taint{runtimeTaint}
	r := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	remember(t, n, "demo", r)
	w := sealedWorld(t, s, n)
	w.tries(1)
	if !w.sealHolds(s) || !taint.Has(w.node(), runtimeTaint) {
		t.Errorf("the node has %v", w.node().ObjectMeta)
	}
	w.edit(claimComplete(t))
	w.tries(1)
	if !taint.Has(w.node(), runtimeTaint) {
		t.Error("the adopted record was edited, and the taint is gone")
	}

	s, n = waitedFor(afterTheNode)
	n.Spec.Taints = []corev1.Taint{runtimeTaint}
	remember(t, n, "demo", completeRecord())
	w = sealedWorld(t, s, n)
	w.tries(1)
	if n := w.node(); taint.Has(n, runtimeTaint) || !w.sealHolds(s) {
		t.Errorf("a complete node keeps its taint after the upgrade: %v", n.ObjectMeta)
	}
}

// TestVouchedFor: what an operator from before there were seals wrote after a rollback is as good as forged, until the
// administrator begins sealing anew.
func TestVouchedFor(t *testing.T) {
	for name, seal := range map[string]string{"a node that joined meanwhile": "", "a node that was sealed before": "stale"} {
		t.Run(name, func(t *testing.T) {
			s, n := waitedFor(fromTheBeginning)
			s.Spec.AutoTaintNewNodes = true
			remember(t, n, "demo", completeRecord())
			if seal != "" {
				n.Labels[sealKey], n.Spec.Taints = seal, []corev1.Taint{runtimeTaint}
				n.Annotations[taint.Annotation(runtimeTaint)] = "true"
			}
			w := sealedWorld(t, s, n)
			w.tries(3)
			if got := w.record("demo"); !taint.Has(w.node(), runtimeTaint) ||
				got.Wait == nil || got.Wait.Reason != v1alpha1.ReasonNodeStateUnsealed {
				t.Fatalf("taints %v, it waits for %+v", w.node().Spec.Taints, got.Wait)
			}
			w.edit(func(n *corev1.Node) { delete(n.Labels, sealKey) })
			w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
			s.Status.SealedSince = new(metav1.NewTime(afterTheNode)) // as it is planned anew
			w.must(w.Client.Status().Update(t.Context(), s))
			w.tries(1)
			if taint.Has(w.node(), runtimeTaint) || !w.sealHolds(s) || len(w.pods()) > 0 {
				t.Errorf("vouched for, the node has %v, taints %v, pods %v", w.node().ObjectMeta, w.node().Spec.Taints, w.pods())
			}
		})
	}
}

// TestNewNodeWithAForgedRecord: it is tainted all the same, and what it claims is not sealed on the way; nor for a
// Skyhook that has no new nodes tainted.
func TestNewNodeWithAForgedRecord(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	auto := newSkyhook("auto")
	auto.Spec.RuntimeRequired, auto.Spec.AutoTaintNewNodes, auto.Status.SealedSince = true, true, s.Status.SealedSince
	remember(t, n, "demo", completeRecord())
	remember(t, n, "auto", completeRecord())
	w := newWorld(t, s, auto, n)
	w.Workload.RuntimeTaint = runtimeTaint
	w.tries(3)
	n = w.node()
	if !taint.Has(n, runtimeTaint) || n.Annotations[taint.Annotation(runtimeTaint)] != "true" || record.AnySeal(n.Labels) {
		t.Errorf("the node has %v, taints %v", n.ObjectMeta, n.Spec.Taints)
	}
}

// TestSealOfANodeThatLeft: it stays with the record, for when the node comes back, or the Skyhook.
func TestSealOfANodeThatLeft(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Status.Permits = nil
	s.Spec.NodeSelectors.MatchLabels = map[string]string{"gpu": "1"}
	s.Finalizers = []string{v1alpha1.Finalizer}
	remember(t, n, "demo", completeRecord())
	w := sealedWorld(t, s, n)
	w.tries(1)
	w.edit(func(n *corev1.Node) { n.Labels["gpu"] = "0" })
	w.tries(1)
	if !w.sealHolds(s) || w.node().Annotations["skyhook.nvidia.com/status_demo"] != "" {
		t.Errorf("the node that left has %v", w.node().ObjectMeta)
	}
	w.must(w.Client.Delete(t.Context(), s))
	w.tries(1)
	again := s.DeepCopy()
	again.UID = "created-again"
	if n := w.node(); !w.sealHolds(again) || n.Annotations[stateKey] == "" {
		t.Errorf("after the deletion the node has %v", n.ObjectMeta)
	}
}

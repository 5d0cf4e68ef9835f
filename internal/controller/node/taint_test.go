package node

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// lists counts from now on how often the API server is asked for a list.
func (w *world) lists() *int {
	asked := new(int)
	w.changeLive(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			*asked++
			return w.list(ctx, c, l, opts...)
		},
	})
	return asked
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
	asked := w.lists()
	w.reconcile()
	if !taint.Has(w.node(), runtimeTaint) || len(w.pods()) != 0 || *asked != 0 || strings.Join(w.order, " ") != "record" {
		t.Fatalf("taints %v, %d pods, asked %d times, wrote %v", w.node().Spec.Taints, len(w.pods()), *asked, w.order)
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
		decided(p, s, lifecycle.Decision{Record: record.Node{Status: "blocked"}})
		p.taint = taint.Change{Taints: &[]corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}
		if added {
			p.Workload.RuntimeTaint = (*p.taint.Taints)[0]
		}
		p.execute(t.Context())
		if got := strings.Join(w.order, " "); len(p.errs) != 0 || got != want {
			t.Errorf("added %t: wrote %s, want %s; %v", added, got, want, p.errs)
		}
		if p.wrote.resourceVersion != w.node().ResourceVersion {
			t.Error("the last write is not the one that is remembered")
		}
	}
}

// TestTaintAfterARebootComesAlone: what is applied again after it, and who waits for whom, depends on the taint. demo is
// what workloads wait for, and at work; general comes before it, but not on a node with the taint.
func TestTaintAfterARebootComesAlone(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Status.SealedSince = nil
	s.Spec.Priority = 2
	general := newSkyhook("general")
	general.Spec.Priority, general.Status.Permits = 1, nil
	for _, name := range []string{"demo", "general"} {
		done := completeRecord()
		done.BootID = "boot-1"
		remember(t, n, name, done)
	}
	n.Status.NodeInfo.BootID = "boot-2"
	w := newWorld(t, s, general, n)
	w.Workload.RuntimeTaint, w.Targets.Reapply.Reboots = runtimeTaint, true
	asked := w.lists()
	w.reconcile()
	if !taint.Has(w.node(), runtimeTaint) || len(w.pods()) > 0 || *asked > 0 || w.record("demo").BootID != "boot-1" {
		t.Fatalf("taints %v, %d pods, asked %d times, boot %s", w.node().Spec.Taints, len(w.pods()), *asked, w.record("demo").BootID)
	}
	w.tries(3)
	pods := w.pods()
	if got := w.record("demo"); got.FinishedPermit != "" || len(pods) != 1 || pods[0].Labels[v1alpha1.LabelName] != "demo" {
		t.Errorf("demo gave back its permit %q and waits for %+v; pods %v", got.FinishedPermit, got.Wait, pods)
	}
}

// TestTaintThatSomebodyTakesAway each time does not keep the work from beginning.
func TestTaintThatSomebodyTakesAway(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Spec.AutoTaintNewNodes = true
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint = runtimeTaint
	for range 2 {
		w.reconcile()
		if !taint.Has(w.node(), runtimeTaint) {
			t.Error("the node has no taint")
		}
		w.edit(func(n *corev1.Node) { n.Spec.Taints = nil })
	}
	if len(w.pods()) != 1 {
		t.Errorf("%d pods", len(w.pods()))
	}
}

// TestNothingComesBeforeANewTaint, not even what is left of a Skyhook that is gone.
func TestNothingComesBeforeANewTaint(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Spec.AutoTaintNewNodes = true
	left := entry(v1alpha1.StageInterrupt, v1alpha1.StateInProgress)
	left.Cordoned = true
	remember(t, n, "orphan", left)
	n.Spec.Unschedulable = true
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint = runtimeTaint
	w.changeLive(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if !taint.Has(w.node(), runtimeTaint) {
				t.Errorf("asked for %s %s", o.GetObjectKind().GroupVersionKind().Kind, key.Name)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.reconcile()
	if !taint.Has(w.node(), runtimeTaint) || !w.node().Spec.Unschedulable {
		t.Errorf("spec %+v", w.node().Spec)
	}
	w.tries(2)
	if w.node().Spec.Unschedulable {
		t.Error("the cordon stays")
	}
}

// TestRefusedTaintIsTold to every Skyhook that has to do with the node, also to one that only leaves it.
func TestRefusedTaintIsTold(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Spec.AutoTaintNewNodes = true
	left := newSkyhook("left")
	left.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "other"}
	remember(t, n, "left", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, s, left, n)
	w.Workload.RuntimeTaint = runtimeTaint
	w.change(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if body, _ := patch.Data(o); strings.Contains(string(body), `"taints"`) {
				return apierrors.NewForbidden(corev1.Resource("nodes"), o.GetName(), errors.New("the policy denied it"))
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	w.tries(8)
	for _, name := range []string{"demo", "left"} {
		if wait := w.record(name).Wait; wait == nil || wait.Reason != v1alpha1.ReasonPassFailed {
			t.Errorf("%s waits for %+v", name, wait)
		}
	}
}

// TestLaterSkyhookWaitsWhenAnEarlierOneCannotBeDecided: after a reboot it starts over, as soon as the question is
// answered that fails now.
func TestLaterSkyhookWaitsWhenAnEarlierOneCannotBeDecided(t *testing.T) {
	early, late, n := newSkyhook("early"), newSkyhook("late"), newNode()
	early.Spec.Priority, late.Spec.Priority = 1, 2
	rememberLost(t, n)
	w := newWorld(t, n, early, late)
	w.reapplyUndecided()
	w.tries(5) // also once the failure is told
	if pods := w.pods(); len(pods) > 0 {
		t.Errorf("started %s", pods[0].Name)
	}
	w.Live = w.Client
	w.tries(2)
	if pods := w.pods(); len(pods) != 1 || pods[0].Labels[v1alpha1.LabelName] != "early" {
		t.Errorf("started %v", pods)
	}
}

// rememberLost lets a node have rebooted since Skyhook early was complete on it, also with a package that left the spec,
// whose definition is asked for.
func rememberLost(t *testing.T, n *corev1.Node) {
	t.Helper()
	done := completeRecord()
	done.BootID = "boot-1"
	for _, e := range done.Packages {
		e.Name, e.Definition = "old", "lost"
		done.Packages[e.Key()] = e
		break
	}
	remember(t, n, "early", done)
	n.Status.NodeInfo.BootID = "boot-2"
}

// reapplyUndecided applies packages again after a reboot, while nobody answers that question.
func (w *world) reapplyUndecided() {
	w.Targets.Reapply.Reboots = true
	w.changeLive(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*appsv1.ControllerRevisionList); ok {
				return errors.New("try again")
			}
			return w.list(ctx, c, l, opts...)
		},
	})
}

// TestTaintAfterARebootBesideAnInterrupt: what was in flight runs again first. When it has ended everything starts over,
// and the taint comes in the same write.
func TestTaintAfterARebootBesideAnInterrupt(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Status.SealedSince = nil
	interrupt := &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: interrupt}
	r := entry(v1alpha1.StageInterrupt, v1alpha1.StateInProgress)
	for key, e := range r.Packages {
		e.Interrupt, e.Config = interrupt, map[string]string{}
		r.Packages[key] = e
	}
	r.Cordoned, r.BootID = true, "boot-1"
	remember(t, n, "demo", r)
	n.Spec.Unschedulable = true
	n.Annotations[v1alpha1.AnnotationInterrupt] = `{"skyhook":"demo","packages":["a"],"type":"service","run":"r1","since":"2027-01-15T08:00:00Z"}`
	n.Status.NodeInfo.BootID = "boot-2"
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint, w.Targets.Reapply.Reboots = runtimeTaint, true
	for range 8 {
		w.tries(1)
		for _, pod := range w.pods() {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.InitContainerStatuses = nil
			for _, c := range pod.Spec.InitContainers {
				pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
					Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
				})
			}
			w.must(w.Client.Status().Update(t.Context(), &pod))
		}
		if boot := w.record("demo").BootID; (boot == "boot-2") != taint.Has(w.node(), runtimeTaint) {
			t.Fatalf("boot %s, taints %v", boot, w.node().Spec.Taints)
		} else if boot == "boot-2" {
			return
		}
	}
	t.Errorf("never started over: %+v", w.record("demo"))
}

// TestTaintStaysUntilTheNodeIsReady: right after a reboot the record still says complete, and nothing starts over before
// the node is Ready.
func TestTaintStaysUntilTheNodeIsReady(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Status.SealedSince, s.Status.Permits = nil, nil
	done := completeRecord()
	done.BootID = "boot-1"
	remember(t, n, "demo", done)
	n.Status.NodeInfo.BootID = "boot-2"
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint, w.Targets.Reapply.Reboots = runtimeTaint, true
	w.reconcile()
	w.must(w.Client.Status().Update(t.Context(), w.notReady()))
	w.tries(2)
	if !taint.Has(w.node(), runtimeTaint) {
		t.Error("the taint is gone")
	}
}

// TestTaintThatStaysIsTold: workloads wait for it, while the Skyhook is complete.
func TestTaintThatStaysIsTold(t *testing.T) {
	for name, live := range map[string]func(w *world){
		"the cache lacks a Skyhook": func(w *world) {
			late := newSkyhook("late")
			late.Spec.RuntimeRequired = true
			w.Live = newWorld(t, late).Client
		},
		"nobody answers": func(w *world) {
			w.changeLive(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, ok := o.(*v1alpha1.Skyhook); ok {
						return errors.New("the API server is overloaded")
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
		},
	} {
		s, n := waitedFor(fromTheBeginning)
		s.Status.SealedSince, s.Status.Permits = nil, nil
		n.Spec.Taints = []corev1.Taint{runtimeTaint}
		remember(t, n, "demo", completeRecord())
		remember(t, n, "late", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
		w := sealedWorld(t, s, n)
		live(w)
		w.tries(10)
		if !taint.Has(w.node(), runtimeTaint) {
			t.Fatalf("%s: the taint is gone", name)
		}
		if wait := w.record("demo").Wait; wait == nil || wait.Reason != v1alpha1.ReasonPassFailed {
			t.Errorf("%s: waits for %+v", name, wait)
		}
	}
}

func (w *world) notReady() *corev1.Node { return notReady(w.node()) }

func notReady(n *corev1.Node) *corev1.Node {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			n.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	return n
}

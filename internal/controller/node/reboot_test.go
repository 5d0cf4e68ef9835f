package node

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/skyhook"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// TestNoPermitForASkyhookThatWaitsAfterAReboot: while an earlier one cannot be decided, a later one neither begins on the
// node, nor keeps other nodes from the permit.
func TestNoPermitForASkyhookThatWaitsAfterAReboot(t *testing.T) {
	early, late, n := newSkyhook("early"), newSkyhook("late"), newNode()
	early.Spec.Priority, late.Spec.Priority = 1, 2
	early.Status.Permits = nil
	late.Spec.InterruptionBudget.Count = new(1)
	late.Status = v1alpha1.SkyhookStatus{}
	rememberLost(t, n)
	n2 := newNode()
	n2.Name, n2.UID = "node-2", "uid-node-2"
	there := completeRecord()
	there.BootID = "boot-1"
	remember(t, n2, "early", there) // early is complete on node-2, so late may work there
	w := newWorld(t, n, n2, early, late)
	w.reapplyUndecided()
	planner := &skyhook.Reconciler{Shared: w.Shared}
	planner.Live = w.Client // the planner's own questions are answered
	for range 60 {
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		for _, name := range []string{"early", "late"} {
			if _, err := planner.Reconcile(t.Context(), request(name)); err != nil {
				t.Error(err)
			}
		}
		var s v1alpha1.Skyhook
		w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "late"}, &s))
		for _, p := range s.Status.Permits {
			if p.Node != "node-2" {
				t.Fatalf("node %s has a permit for nothing", p.Node)
			}
		}
		if len(s.Status.Permits) != 1 {
			t.Fatalf("%d permits", len(s.Status.Permits))
		}
		w.reconcile()
	}
}

// TestLaterSkyhookWaitsUntilTheNodeIsReady: the earlier one starts over then.
func TestLaterSkyhookWaitsUntilTheNodeIsReady(t *testing.T) {
	early, late, n := newSkyhook("early"), newSkyhook("late"), newNode()
	early.Spec.Priority, late.Spec.Priority = 1, 2
	early.Status.Permits = nil
	done := completeRecord()
	done.BootID = "boot-1"
	remember(t, n, "early", done)
	n.Status.NodeInfo.BootID = "boot-2"
	notReady(n)
	w := newWorld(t, early, late, n)
	w.Targets.Reapply.Reboots = true
	w.tries(2)
	for _, p := range w.pods(client.InNamespace(namespace)) {
		t.Errorf("not Ready: started %s", p.Name)
	}
}

// TestNothingIsEvictedBeforeItStartsOver: as soon as the node is Ready, the interrupt is not pending any more.
func TestNothingIsEvictedBeforeItStartsOver(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	service := &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: service}
	n.Spec.Unschedulable = true
	r := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	r.Cordoned, r.BootID = true, "boot-1"
	remember(t, n, "demo", r)
	n.Status.NodeInfo.BootID = "boot-2"
	w := newWorld(t, n, s)
	w.Targets.Reapply.Reboots = true
	f := &refill{w: w}
	w.Evictor = f
	f.put()
	w.must(w.Client.Status().Update(t.Context(), w.notReady()))
	var began []string
	w.OnDecision = func(_, skyhook string, d *lifecycle.Decision) {
		for _, st := range d.Start {
			began = append(began, skyhook+"/"+string(st.Stage))
		}
	}
	w.tries(3)
	if e := w.evictions(); len(e) > 0 || len(began) > 0 {
		t.Errorf("not Ready: evicted %v, began %v", e, began)
	}
}

// TestTaintComesBeforeTheNodeIsReady after a reboot: workloads come as soon as it is.
func TestTaintComesBeforeTheNodeIsReady(t *testing.T) {
	s, n := waitedFor(fromTheBeginning)
	s.Status.SealedSince, s.Status.Permits = nil, nil
	done := completeRecord()
	done.BootID = "boot-1"
	remember(t, n, "demo", done)
	n.Status.NodeInfo.BootID = "boot-2"
	notReady(n)
	w := newWorld(t, s, n)
	w.Workload.RuntimeTaint, w.Targets.Reapply.Reboots = runtimeTaint, true
	w.tries(2)
	if !taint.Has(w.node(), runtimeTaint) {
		t.Errorf("rebooted, not Ready: no taint")
	}
}

// beginsReboot is a node on which the pod of a reboot has been created, the Skyhook and that pod.
func beginsReboot(t *testing.T) (*world, *v1alpha1.Skyhook, *corev1.Pod) {
	t.Helper()
	s, n := newSkyhook("demo"), newNode()
	s.Finalizers = []string{v1alpha1.Finalizer}
	s.Spec.NodeSelectors.MatchLabels = map[string]string{"gpu": "1"}
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}}
	n.Labels = map[string]string{"gpu": "1"}
	n.Spec.Unschedulable = true
	r := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	r.Cordoned = true
	remember(t, n, "demo", r)
	w := newWorld(t, s, n)
	w.Evictor = slow(func() {})
	w.tries(1)
	pods := w.pods()
	if len(pods) != 1 {
		t.Fatalf("%d pods reboot the node", len(pods))
	}
	return w, s, &pods[0]
}

// TestCordonedUntilItHasRebooted: a node that may be going down takes no workloads, whatever becomes of the Skyhook.
func TestCordonedUntilItHasRebooted(t *testing.T) {
	for _, how := range []string{"deleted", "paused"} {
		w, s, pod := beginsReboot(t)
		pod.Status.Phase = corev1.PodSucceeded // it asked for the reboot and ended
		for _, c := range pod.Spec.InitContainers {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
			})
		}
		w.must(w.Client.Status().Update(t.Context(), pod))
		w.tries(1)
		if how == "deleted" {
			w.must(w.Client.Delete(t.Context(), s))
		} else {
			var live v1alpha1.Skyhook
			w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, &live))
			live.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
			w.must(w.Client.Update(t.Context(), &live))
		}
		w.tries(4)
		if !w.node().Spec.Unschedulable {
			t.Errorf("%s: boot %s, Ready, the reboot is under way: uncordoned, interrupt %q", how, w.node().Status.NodeInfo.BootID,
				w.node().Annotations[v1alpha1.AnnotationInterrupt])
		}
	}
}

// TestRebootOfADeletedSkyhookIsOurs: its neighbours are not applied again for it.
func TestRebootOfADeletedSkyhookIsOurs(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	s.Finalizers = []string{v1alpha1.Finalizer}
	other := newSkyhook("other")
	other.Status.Permits = nil
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}}
	r := entry(v1alpha1.StageInterrupt, v1alpha1.StateInProgress)
	for key, e := range r.Packages {
		e.Interrupt, e.Config, e.BootID = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}, map[string]string{}, "boot-1"
		r.Packages[key] = e
	}
	r.Cordoned, r.BootID = true, "boot-1"
	remember(t, n, "demo", r)
	done := completeRecord()
	done.BootID = "boot-1"
	remember(t, n, "other", done)
	n.Spec.Unschedulable = true
	n.Annotations[v1alpha1.AnnotationInterrupt] = `{"skyhook":"demo","packages":["a|1.0.0"],"type":"reboot","bootID":"boot-1","run":"r1","since":"2027-01-15T08:00:00Z"}`
	w := newWorld(t, s, other, n)
	w.Targets.Reapply.Reboots = true
	w.must(w.Client.Delete(t.Context(), s))
	// the node goes down: the pod of the reboot has ended and is gone
	w.must(w.Client.Status().Update(t.Context(), w.notReady()))
	w.tries(1)
	up := w.node()
	up.Status = newNode().Status
	up.Status.NodeInfo.BootID = "boot-2"
	w.must(w.Client.Status().Update(t.Context(), up))
	w.tries(1)
	if told := w.told("rebooted by itself"); len(told) > 0 {
		t.Errorf("told %v", told)
	}
}

// TestNoSecondRebootOfANodeThatCameBack: its label was away from when it went down until it was Ready.
func TestNoSecondRebootOfANodeThatCameBack(t *testing.T) {
	w, s, pod := beginsReboot(t)
	w.must(w.Client.Delete(t.Context(), pod))
	w.must(w.Client.Status().Update(t.Context(), w.notReady()))
	label := func(labels map[string]string) {
		w.edit(func(n *corev1.Node) { maps.Copy(n.Labels, labels) })
		w.tries(2)
	}
	label(map[string]string{"gpu": "0"})
	up := w.node()
	up.Status = newNode().Status
	up.Status.NodeInfo.BootID = "boot-2"
	w.must(w.Client.Status().Update(t.Context(), up))
	w.tries(2)
	if w.node().Spec.Unschedulable {
		t.Error("rebooted, and cordoned")
	}
	w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, s))
	s.Status.Permits = []v1alpha1.Permit{{Node: nodeName, Order: 4, Generation: 1}}
	w.must(w.Client.Status().Update(t.Context(), s))
	label(map[string]string{"gpu": "1"})
	for _, pod := range w.pods() {
		if strings.Contains(pod.Name, "-interrupt-reboot-") {
			t.Errorf("%s reboots it again", pod.Name)
		}
	}
	if e := w.record("demo").Packages["a|1.0.0"]; e.Stage != v1alpha1.StagePostInterrupt {
		t.Errorf("it is in stage %s", e.Stage)
	}
}

// TestDeletionEndsARebootThatHasNotBegun: nothing was asked of the node yet.
func TestDeletionEndsARebootThatHasNotBegun(t *testing.T) {
	w, s, pod := beginsReboot(t)
	pod.Status.Phase = corev1.PodPending // as its image is pulled
	w.must(w.Client.Status().Update(t.Context(), pod))
	w.must(w.Client.Delete(t.Context(), s))
	w.tries(2)
	if left := w.pods(client.InNamespace(namespace)); len(left) > 0 {
		t.Errorf("%s is left, and the node waits for %+v", left[0].Name, w.record("demo").Wait)
	}
}

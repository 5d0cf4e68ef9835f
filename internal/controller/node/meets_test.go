package node

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func meetsInterruptPod(t *testing.T, _ *world, s *v1alpha1.Skyhook) *corev1.Pod {
	t.Helper()
	pod, err := options.Pod(workload.Task{
		Skyhook: s, Package: "a", Stage: v1alpha1.StageInterrupt, Run: "r1", Generation: 1, Node: nodeName,
		Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}, BootID: "boot-1", InterruptRun: "r1",
	})
	if err != nil {
		t.Fatal(err)
	}
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Status.Phase = corev1.PodPending
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return pod
}

func meetsFlight(n *corev1.Node, i record.Interrupt) {
	raw, _ := json.Marshal(i)
	n.Annotations[v1alpha1.AnnotationInterrupt] = string(raw)
}

func meetsInterrupting(t *testing.T, _ *v1alpha1.Skyhook) record.Node {
	t.Helper()
	e := record.Entry{
		Name: "a", Version: "1.0.0", Image: "x/a", Stage: v1alpha1.StageInterrupt, State: v1alpha1.StateInProgress, Run: "r1",
		Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}, BootID: "boot-1",
		Config: map[string]string{}, Since: metav1.NewTime(start.Add(-60e9)), Generation: 1,
	}
	return record.Node{Status: v1alpha1.StatusInProgress, Cordoned: true, Packages: map[string]record.Entry{e.Key(): e}}
}

// passes runs the reconciler a few times and returns the package pods that were created.
func (w *world) meetsPasses(n int) {
	for range n {
		if _, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: nodeName}}); err != nil {
			w.t.Log(err)
		}
		w.clock.SetTime(w.clock.Now().Add(15e9))
	}
}

func (w *world) meetsBeside(interrupt string) {
	w.t.Helper()
	pods := w.pods()
	there := false
	for _, p := range pods {
		there = there || p.Name == interrupt
	}
	for _, p := range pods {
		if there && p.Name != interrupt {
			w.t.Errorf("pod %s (%s) was started beside the interrupt pod %s, which is still there", p.Name, p.Labels[v1alpha1.LabelName], interrupt)
		}
	}
}

// The annotation edited to name another live Skyhook: that one starts its package beside the interrupt pod.
func TestMeetsAnnotationNamesAnother(t *testing.T) {
	early, late := newSkyhook("aa"), newSkyhook("zz")
	late.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}}
	n := newNode()
	n.Spec.Unschedulable = true
	remember(t, n, "zz", meetsInterrupting(t, late))
	meetsFlight(n, record.Interrupt{Skyhook: "aa", Packages: []string{"a|1.0.0"}, Type: v1alpha1.InterruptService})
	w := newWorld(t, n, early, late)
	pod := meetsInterruptPod(t, w, late)
	w.must(w.Client.Create(t.Context(), pod))
	w.meetsPasses(1)
	w.meetsBeside(pod.Name)
}

// F8b: control: with the right annotation nothing starts.
func TestMeetsControl(t *testing.T) {
	early, late := newSkyhook("aa"), newSkyhook("zz")
	late.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}}
	n := newNode()
	n.Spec.Unschedulable = true
	remember(t, n, "zz", meetsInterrupting(t, late))
	meetsFlight(n, record.Interrupt{Skyhook: "zz", Packages: []string{"a|1.0.0"}, Type: v1alpha1.InterruptService, Run: "r1"})
	w := newWorld(t, n, early, late)
	pod := meetsInterruptPod(t, w, late)
	w.must(w.Client.Create(t.Context(), pod))
	w.meetsPasses(3)
	w.meetsBeside(pod.Name)
}

// The owner was deleted by force (finalizer removed) and created again with its name, before garbage collection
// took its interrupt pod. The new one has another version of the package: its interrupt is broken off and released, and
// its own package, or another Skyhook's, starts beside the old pod.
func TestMeetsRecreatedOwner(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
	}{
		{"another version", func(s *v1alpha1.Skyhook) { s.Spec.Packages["a"] = v1alpha1.Package{Version: "2.0.0", Image: "x/a"} }},
		{"selects the node no more", func(s *v1alpha1.Skyhook) { s.Spec.NodeSelectors.MatchLabels = map[string]string{"no": "more"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, other := newSkyhook("aa"), newSkyhook("zz")
			old.UID = "uid-aa-old"
			old.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}}
			s := newSkyhook("aa")
			c.change(s)
			n := newNode()
			n.Spec.Unschedulable = true
			remember(t, n, "aa", meetsInterrupting(t, old))
			meetsFlight(n, record.Interrupt{Skyhook: "aa", Packages: []string{"a|1.0.0"}, Type: v1alpha1.InterruptService, Run: "r1"})
			w := newWorld(t, n, s, other)
			pod := meetsInterruptPod(t, w, old)
			w.must(w.Client.Create(t.Context(), pod))
			w.meetsPasses(2)
			w.meetsBeside(pod.Name)
		})
	}
}

// The record of the owner becomes garbage while its interrupt pod fails.
func TestMeetsMalformedOwner(t *testing.T) {
	s, other := newSkyhook("aa"), newSkyhook("zz")
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}}
	n := newNode()
	n.Spec.Unschedulable = true
	remember(t, n, "aa", meetsInterrupting(t, s))
	n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"aa"] = "{garbage"
	meetsFlight(n, record.Interrupt{Skyhook: "aa", Packages: []string{"a|1.0.0"}, Type: v1alpha1.InterruptService, Run: "r1"})
	s.Spec.Priority, other.Spec.Priority = 9, 5 // a later one is malformed; the earlier one is next pass's
	w := newWorld(t, n, s, other)
	pod := meetsInterruptPod(t, w, s)
	pod.Finalizers = []string{"kubelet/grace-period"} // deletion takes its grace period
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.InitContainers[0].Name, RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
	}}
	w.must(w.Client.Create(t.Context(), pod))
	for range 4 {
		w.meetsPasses(1)
		// zz gave its permit back for the interrupt that was in flight; the plan gives it another one now.
		var zz v1alpha1.Skyhook
		w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "zz"}, &zz))
		zz.Status.Permits[0].Order = 4
		w.must(w.Client.Status().Update(t.Context(), &zz))
		t.Logf("in flight %q", w.node().Annotations[v1alpha1.AnnotationInterrupt])
		t.Logf("zz %s %s", w.node().Annotations[v1alpha1.AnnotationNodeStatePrefix+"zz"], w.node().Annotations[v1alpha1.AnnotationWaitPrefix+"zz"])
		for _, p := range w.pods() {
			o, err := workload.Observe(&p)
			t.Logf("pod %s %+v %v", p.Name, o.Outcome, err)
		}
	}
	w.meetsBeside(pod.Name)
}

// A reboot in flight for a Skyhook whose selector leaves the node: its entry stays on the node as it is, and makes
// every later boot one that was asked for, so that REAPPLY_ON_REBOOT does nothing for all other Skyhooks any more.
func TestMeetsLeftEntryAcceptsEveryBoot(t *testing.T) {
	for _, asked := range []bool{false, true} { // false is the control: without the left entry's interrupt
		t.Run(map[bool]string{false: "control", true: "left"}[asked], func(t *testing.T) { meetsLeft(t, asked) })
	}
}

func meetsLeft(t *testing.T, asked bool) {
	t.Helper()
	gone, other := newSkyhook("aa"), newSkyhook("zz")
	gone.Spec.NodeSelectors.MatchLabels = map[string]string{"no": "more"}
	n := newNode()
	left := meetsInterrupting(t, gone)
	e := left.Packages["a|1.0.0"]
	e.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	if !asked {
		e.Stage, e.State, e.Interrupt, e.BootID = v1alpha1.StageConfig, v1alpha1.StateComplete, nil, ""
	}
	left.Packages["a|1.0.0"], left.Cordoned = e, false
	remember(t, n, "aa", left)
	done := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	d := done.Packages["a|1.0.0"]
	d.Config, d.Changed = map[string]string{}, []string{}
	done.Packages["a|1.0.0"], done.Status, done.BootID = d, v1alpha1.StatusComplete, "boot-1"
	remember(t, n, "zz", done)
	if asked {
		meetsFlight(n, record.Interrupt{Skyhook: "aa", Packages: []string{"a|1.0.0"}, Type: v1alpha1.InterruptReboot, Run: "r1", BootID: "boot-1"})
	}
	w := newWorld(t, n, gone, other)
	w.ReapplyOnReboot = true
	w.meetsPasses(3) // aa leaves
	for _, boot := range []string{"boot-2", "boot-3"} {
		now := w.node()
		now.Status.NodeInfo.BootID = boot
		w.must(w.Client.Status().Update(t.Context(), now))
		now = w.node()
		now.Status.NodeInfo.BootID = boot
		w.must(w.Client.Update(t.Context(), now))
		if w.node().Status.NodeInfo.BootID != boot {
			t.Fatal("boot id not set")
		}
		w.meetsPasses(2)
	}
	r, err := record.Read("zz", w.node().Annotations)
	w.must(err)
	if r.Status == v1alpha1.StatusComplete {
		t.Errorf("two reboots that nobody asked for any more, and nothing is applied again: %+v, left %s", r.Packages,
			w.node().Annotations[v1alpha1.AnnotationNodeStatePrefix+"aa"])
	}
}

package node

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// interrupts is a record whose package a interrupts the node.
func interrupts() record.Node {
	e := record.Entry{
		Name: "a", Version: "1.0.0", Image: "x/a", Stage: v1alpha1.StageInterrupt, State: v1alpha1.StateInProgress, Run: "r1",
		Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}, BootID: "boot-1",
		Config: map[string]string{}, Since: metav1.NewTime(start.Add(-time.Minute)), Generation: 1,
	}
	return record.Node{Status: v1alpha1.StatusInProgress, Cordoned: true, Packages: map[string]record.Entry{e.Key(): e}}
}

// show puts an interrupt of package a in flight on a node.
func show(t *testing.T, n *corev1.Node, i record.Interrupt) {
	t.Helper()
	i.Packages = []string{"a|1.0.0"}
	raw, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	n.Annotations[v1alpha1.AnnotationInterrupt] = string(raw)
}

// interrupted is node-1 while the interrupt of a Skyhook runs there, and the pod that runs it; named is the Skyhook that
// the node's annotation tells of.
func interrupted(t *testing.T, s *v1alpha1.Skyhook, named string) (*corev1.Node, *corev1.Pod) {
	t.Helper()
	n := newNode()
	n.Spec.Unschedulable = true
	remember(t, n, s.Name, interrupts())
	flight := record.Interrupt{Skyhook: named, Type: v1alpha1.InterruptService, Run: "r1"}
	if named != s.Name {
		flight.Run = "" // somebody wrote it
	}
	show(t, n, flight)
	e := interrupts().Packages["a|1.0.0"]
	pod, err := options.Pod(workload.Task{
		Skyhook: s, Package: "a", Stage: e.Stage, Run: e.Run, Generation: 1, Node: nodeName,
		Interrupt: e.Interrupt, BootID: e.BootID, InterruptRun: e.Run,
	})
	if err != nil {
		t.Fatal(err)
	}
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Status.Phase = corev1.PodPending
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return n, pod
}

// nothingBeside checks that no pod was started while that of an interrupt is there.
func (w *world) nothingBeside(interrupt *corev1.Pod) {
	w.t.Helper()
	pods := w.pods()
	if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == interrupt.Name }) {
		return
	}
	for _, p := range pods {
		if p.Name != interrupt.Name {
			w.t.Errorf("pod %s (%s) was started beside the interrupt pod %s", p.Name, p.Labels[v1alpha1.LabelName], interrupt.Name)
		}
	}
}

// TestNothingBesideAnInterrupt, also if somebody edited the annotation to name another Skyhook.
func TestNothingBesideAnInterrupt(t *testing.T) {
	for _, named := range []string{"zz", "aa"} {
		early, late := newSkyhook("aa"), withService("zz")
		n, pod := interrupted(t, late, named)
		w := newWorld(t, n, early, late, pod)
		for range 3 {
			w.tries(1)
			w.nothingBeside(pod)
		}
	}
}

// TestNothingBesideTheInterruptOfAnEarlierSkyhook: its owner was deleted by force and created again with its name,
// before garbage collection took its pod. The interrupt is broken off and released, and packages must not start yet.
func TestNothingBesideTheInterruptOfAnEarlierSkyhook(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Skyhook){
		"another version": func(s *v1alpha1.Skyhook) {
			s.Spec.Packages["a"] = v1alpha1.Package{Version: "2.0.0", Image: "x/a"}
		},
		"selects the node no more": func(s *v1alpha1.Skyhook) {
			s.Spec.NodeSelectors.MatchLabels = map[string]string{"no": "more"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			old, s, other := withService("aa"), newSkyhook("aa"), newSkyhook("zz")
			old.UID = "uid-aa-old"
			change(s)
			n, pod := interrupted(t, old, "aa")
			w := newWorld(t, n, s, other, pod)
			w.tries(2)
			w.nothingBeside(pod)
		})
	}
}

// TestNothingBesideTheInterruptOfABrokenRecord: the record of the owner cannot be read any more while its pod fails.
func TestNothingBesideTheInterruptOfABrokenRecord(t *testing.T) {
	s, other := withService("aa"), newSkyhook("zz")
	s.Spec.Priority, other.Spec.Priority = 9, 5 // a later one is malformed; the earlier one is next pass's
	n, pod := interrupted(t, s, "aa")
	n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"aa"] = "{garbage"
	pod.Finalizers = []string{"kubelet/grace-period"} // deletion takes its grace period
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.InitContainers[0].Name, RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
	}}
	w := newWorld(t, n, s, other, pod)
	for range 4 {
		w.tries(1)
		// zz gave its permit back for the interrupt that was in flight; the plan gives it another one now.
		var zz v1alpha1.Skyhook
		w.must(w.Client.Get(t.Context(), types.NamespacedName{Name: "zz"}, &zz))
		zz.Status.Permits[0].Order = 4
		w.must(w.Client.Status().Update(t.Context(), &zz))
	}
	w.nothingBeside(pod)
}

// TestEntryOfANodeThatLeftAcceptsNoBoot: a Skyhook whose selector leaves the node while its reboot is in flight leaves
// its entry there. That must not make every later boot one that was asked for, so that nothing is applied again.
func TestEntryOfANodeThatLeftAcceptsNoBoot(t *testing.T) {
	for name, asked := range map[string]bool{"without an interrupt": false, "with a reboot in flight": true} {
		t.Run(name, func(t *testing.T) {
			gone, other := newSkyhook("aa"), newSkyhook("zz")
			gone.Spec.NodeSelectors.MatchLabels = map[string]string{"no": "more"}
			n, left := newNode(), entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
			if asked {
				left = interrupts()
				left.Packages["a|1.0.0"].Interrupt.Type = v1alpha1.InterruptReboot
				left.Cordoned = false
				show(t, n, record.Interrupt{Skyhook: "aa", Type: v1alpha1.InterruptReboot, Run: "r1", BootID: "boot-1"})
			}
			remember(t, n, "aa", left)
			done := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
			d := done.Packages["a|1.0.0"]
			d.Config, d.Changed = map[string]string{}, []string{}
			done.Packages["a|1.0.0"], done.Status, done.BootID = d, v1alpha1.StatusComplete, "boot-1"
			remember(t, n, "zz", done)
			w := newWorld(t, n, gone, other)
			w.Targets.Reapply.Reboots = true
			w.tries(3) // aa leaves
			for _, boot := range []string{"boot-2", "boot-3"} {
				n := w.node()
				n.Status.NodeInfo.BootID = boot
				w.must(w.Client.Status().Update(t.Context(), n))
				w.tries(2)
			}
			if r := w.record("zz"); r.Status == v1alpha1.StatusComplete {
				t.Errorf("two reboots that nobody asked for, and nothing is applied again: %+v, left %s", r.Packages,
					w.node().Annotations[v1alpha1.AnnotationNodeStatePrefix+"aa"])
			}
		})
	}
}

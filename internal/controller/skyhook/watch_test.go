package skyhook

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func prioritized(name string, priority int) *v1alpha1.Skyhook {
	s := newSkyhook(name)
	s.Spec.Priority = priority
	return s
}

// TestSuccessorsAreWoken: "m" stands in the middle of five.
func TestSuccessorsAreWoken(t *testing.T) {
	w := newWorld(t, prioritized("first", 1), prioritized("a", 5), prioritized("m", 5), prioritized("z", 5), prioritized("last", 9))
	source := state.Mapped(&v1alpha1.Skyhook{}, w.successors, orderChanged())
	before := prioritized("m", 5)
	before.Status.Status = v1alpha1.StatusInProgress
	annotate := func(key string) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{key: "true"} }
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   string
	}{
		{"nothing", func(*v1alpha1.Skyhook) {}, ""},
		{"permits", func(s *v1alpha1.Skyhook) { s.Status.Permits = []v1alpha1.Permit{{Node: "n"}} }, ""},
		{"pause", annotate(v1alpha1.AnnotationPause), ""},
		{"complete", func(s *v1alpha1.Skyhook) { s.Status.Status = v1alpha1.StatusComplete }, "last z"},
		{"complete while it is paused", func(s *v1alpha1.Skyhook) {
			s.Generation, s.Status.ObservedGeneration = 0, 0
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		}, "last z"},
		{"disable", annotate(v1alpha1.AnnotationDisable), "last z"},
		{"deletion", func(s *v1alpha1.Skyhook) { s.DeletionTimestamp = &metav1.Time{Time: start} }, "last z"},
		{"it comes later now", func(s *v1alpha1.Skyhook) { s.Generation, s.Spec.Priority = 2, 8 }, "last z"},
		{"it comes earlier now", func(s *v1alpha1.Skyhook) { s.Generation, s.Spec.Priority = 2, 2 }, "a last m z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := before.DeepCopy()
			c.change(after)
			if got := wakes(t, source, before, after); got != c.want {
				t.Errorf("wakes %q", got)
			}
		})
	}
	if got := wakes(t, source, before, nil); got != "last z" {
		t.Errorf("when it is gone, wakes %q", got)
	}
	if got := wakes(t, source, nil, before); got != "" {
		t.Errorf("when it comes, wakes %q", got)
	}
}

func TestNodeWakes(t *testing.T) {
	cpu := newSkyhook("cpu")
	cpu.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "cpu"}
	w := newWorld(t, newSkyhook("gpu"), newSkyhook("gpu2"), cpu)
	source := state.Mapped(&corev1.Node{}, w.skyhooksOn)
	left := newNode("n", "none")
	remember(t, left, "cpu", record.Node{Status: v1alpha1.StatusWaiting})
	for _, c := range []struct {
		name          string
		before, after *corev1.Node
		want          string
	}{
		{"selected", newNode("n", "gpu"), newNode("n", "gpu"), "gpu gpu2"},
		{"moved", newNode("n", "gpu"), newNode("n", "cpu"), "cpu gpu gpu2"},
		{"foreign", newNode("n", "none"), newNode("n", "none"), ""},
		{"left over", left, left, "cpu"},
		{"freed", left, newNode("n", "none"), "cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wakes(t, source, c.before, c.after); got != c.want {
				t.Errorf("wakes %q", got)
			}
		})
	}
	if come, gone := wakes(t, source, nil, left), wakes(t, source, left, nil); come != "cpu" || gone != "cpu" {
		t.Errorf("one that comes wakes %q, one that is gone %q", come, gone)
	}
}

// TestAnotherObjectOfTheName: a list after a watch that was dropped shows of one that went and came again no more than
// another version: its generation and annotations may be what they were.
func TestAnotherObjectOfTheName(t *testing.T) {
	paced := newSkyhook("demo")
	paced.Spec.DeploymentPolicy = "slow"
	w := newWorld(t, paced)
	for _, o := range []client.Object{
		newSkyhook("demo"), &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "slow", UID: "uid-slow", Generation: 1}},
	} {
		another, _ := o.DeepCopyObject().(client.Object)
		another.SetUID("uid-another")
		var same, other []string
		for _, source := range w.Sources() {
			if reflect.TypeOf(source.Object) == reflect.TypeOf(o) {
				same, other = append(same, wakes(t, source, o, o)), append(other, wakes(t, source, o, another))
			}
		}
		if strings.Join(same, "") != "" || strings.Join(other, "") != "demo" {
			t.Errorf("%T: the same wakes %q, another %q", o, same, other)
		}
	}
}

func TestPolicyWakes(t *testing.T) {
	paced := newSkyhook("paced")
	paced.Spec.DeploymentPolicy = "slow"
	w := newWorld(t, paced, newSkyhook("free"))
	source := state.Mapped(&v1alpha1.DeploymentPolicy{}, w.pacedSkyhooks)
	if got := wakes(t, source, nil, &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}); got != "paced" {
		t.Errorf("wakes %q", got)
	}
}

func TestSkyhookOfPod(t *testing.T) {
	ours := podOf(t, newSkyhook("demo"), "a", "n")
	orphan, unlabeled := ours.DeepCopy(), ours.DeepCopy()
	orphan.OwnerReferences, unlabeled.Labels = nil, nil
	for want, objects := range map[string][]client.Object{"demo": {ours}, "": {orphan, unlabeled}} {
		for _, o := range objects {
			if got := wakes(t, state.Mapped(o, skyhookOf), nil, o); got != want {
				t.Errorf("wakes %q, want %q", got, want)
			}
		}
	}
	p := podGone()
	if p.Create(event.CreateEvent{Object: ours}) || p.Update(event.UpdateEvent{ObjectOld: ours, ObjectNew: ours}) || !p.Delete(event.DeleteEvent{Object: ours}) {
		t.Error("of pods, only those matter that go")
	}
	running, failed, kept := &corev1.Pod{}, &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, &corev1.Pod{}
	failed.DeepCopyInto(kept)
	kept.DeletionTimestamp = &metav1.Time{Time: start}
	ending := running.DeepCopy()
	ending.DeletionTimestamp = kept.DeletionTimestamp
	sooner := ending.DeepCopy()
	sooner.DeletionTimestamp = &metav1.Time{Time: start.Add(-time.Minute)}
	for _, c := range []struct {
		before, after *corev1.Pod
		want          bool
	}{
		{running, ending, true},
		{ending, kept, true},
		{ending, sooner, true},
		{failed, kept, true},
		{running, running, false},
		{running, failed, false},
		{ending, ending, false},
		{kept, kept, false},
	} {
		if got := p.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("a pod is %s, then %s, deleted %v: wakes %v", c.before.Status.Phase, c.after.Status.Phase, c.after.DeletionTimestamp, got)
		}
	}
	deletion := deletionAdvanced()
	if before := newSkyhook("demo"); !deletion.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: deleted()}) ||
		deletion.Update(event.UpdateEvent{ObjectOld: deleted(), ObjectNew: deleted()}) || deletion.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: before}) {
		t.Error("a deletion matters when it starts, and when a finalizer goes")
	}
	freed := deleted()
	freed.Finalizers = []string{"theirs.io/keep"}
	if !deletion.Update(event.UpdateEvent{ObjectOld: deleted(), ObjectNew: freed}) {
		t.Error("nobody looks, and the status names a finalizer that is gone")
	}
}

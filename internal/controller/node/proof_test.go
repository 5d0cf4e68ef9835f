package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestProof: what the cache lacks is found by label and by owner.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		cached bool
		told   string
	}{
		{"a pod that the cache lacks", nil, false, "does not show it"},
		{"the cache has the pod", nil, true, ""},
		{"the pod has ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false, ""},
		{"it is on another node", func(p *corev1.Pod) { p.Spec.NodeName = "other" }, false, ""},
		{"it lost its label", func(p *corev1.Pod) { p.Labels = nil }, false, "stop what removes the label"},
		{"its owner is gone", func(p *corev1.Pod) { p.OwnerReferences = nil }, false, "does not show it"},
		{"it is the operator's own", func(p *corev1.Pod) { p.Labels, p.OwnerReferences = nil, nil }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, newSkyhook("demo"))
			if c.change != nil {
				c.change(pod)
			}
			w := newWorld(t, newNode(), pod)
			p := w.pass()
			if p.pods = nil; c.cached {
				p.pods = []*corev1.Pod{pod}
			}
			err := p.prove(t.Context())
			if (err == nil) != (c.told == "") || err != nil && !strings.Contains(err.Error(), c.told) || p.wrote.proved != (err == nil) {
				t.Errorf("proved %t: %v", p.wrote.proved, err)
			}
		})
	}
}

func TestWhatNeedsProof(t *testing.T) {
	flight := func(skyhook, run string) *record.Interrupt { return &record.Interrupt{Skyhook: skyhook, Run: run} }
	begins := []lifecycle.Start{startOf("r1")}
	for _, c := range []struct {
		name   string
		proved bool
		before *record.Interrupt
		d      lifecycle.Decision
		want   bool
	}{
		{"nothing happens", false, nil, lifecycle.Decision{}, false},
		{"the first pod of this process", false, nil, lifecycle.Decision{Start: begins}, true},
		{"another one", true, nil, lifecycle.Decision{Start: begins}, false},
		{"a permit is given back", false, nil, lifecycle.Decision{Record: record.Node{FinishedPermit: "1/2"}}, true},
		{"it was given back before", false, nil, lifecycle.Decision{Record: record.Node{FinishedPermit: "1/1"}}, false},
		{"the interrupt goes on", true, flight("a", "r1"), lifecycle.Decision{InFlight: flight("a", "r1")}, false},
		{"an interrupt begins", true, nil, lifecycle.Decision{InFlight: flight("a", "r1"), Start: begins}, true},
		{"it is over", true, flight("a", "r1"), lifecycle.Decision{}, true},
		{"another one takes its place", true, flight("a", "r1"), lifecycle.Decision{InFlight: flight("a", "r2")}, true},
		{"it gets another owner", true, flight("a", "r1"), lifecycle.Decision{InFlight: flight("b", "r1")}, true},
		{"the node is cordoned", false, nil, lifecycle.Decision{Unschedulable: new(true)}, false},
		{"the node is uncordoned", true, nil, lifecycle.Decision{Unschedulable: new(false)}, true},
	} {
		p := &pass{inFlight: c.before, wrote: written{proved: c.proved}}
		i := &item{pass: p, skyhook: newSkyhook("demo"), before: record.Node{FinishedPermit: "1/1"}, decision: c.d}
		if i.skyhook.Generation = 1; i.needsProof() != c.want {
			t.Errorf("%s: %t", c.name, !c.want)
		}
	}
}

// TestOldSpecBeginsNothing: an operator that has just taken over may know a Skyhook only as it was before the node finished
// with its last permit.
func TestOldSpecBeginsNothing(t *testing.T) {
	for _, c := range []struct {
		generation int64
		d          lifecycle.Decision
		want       bool
	}{
		{1, lifecycle.Decision{Start: []lifecycle.Start{startOf("r1")}}, true},
		{1, lifecycle.Decision{Unschedulable: new(true)}, true},
		{1, lifecycle.Decision{}, false},
		{2, lifecycle.Decision{Start: []lifecycle.Start{startOf("r1")}}, false},
	} {
		i := &item{pass: &pass{wrote: written{proved: true}}, skyhook: newSkyhook("demo"), before: record.Node{FinishedPermit: "2/1"}, decision: c.d}
		if i.skyhook.Generation = c.generation; i.needsProof() != c.want {
			t.Errorf("generation %d, %+v: %t", c.generation, c.d, !c.want)
		}
	}
}

// withService is a Skyhook whose package restarts a service.
func withService(name string) *v1alpha1.Skyhook {
	s := newSkyhook(name)
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x"}}}
	return s
}

// cacheWithoutPods makes the cache show no pods, as that of an operator that has just taken over may, until the
// function is called.
func (w *world) cacheWithoutPods() (catchUp func()) {
	whole := w.Client
	w.change(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	return func() { w.Client = whole }
}

func (w *world) livePods() []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	w.must(w.Live.List(w.t.Context(), &list))
	return list.Items
}

// TestNoInterruptBesideAPodThatTheCacheLacks: a new leader knows that a Skyhook owes its interrupt, and not yet that a
// pod of another one runs. The node stays as it is; what lasts is told.
func TestNoInterruptBesideAPodThatTheCacheLacks(t *testing.T) {
	early, late, n := withService("aa"), newSkyhook("zz"), newNode()
	n.Spec.Unschedulable = true
	owes := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	e := owes.Packages["a|1.0.0"]
	e.Config, e.Since, e.Generation = map[string]string{}, metav1.NewTime(start.Add(-time.Minute)), 1
	owes.Packages["a|1.0.0"], owes.Cordoned = e, true
	remember(t, n, "aa", owes)
	runs := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	runs.Begun = true
	remember(t, n, "zz", runs)
	w := newWorld(t, n, early, late)
	pod := podOf(t, late)
	w.must(w.Client.Create(t.Context(), pod))
	catchUp := w.cacheWithoutPods()
	for _, after := range []time.Duration{0, 9 * time.Second, 10 * time.Second, time.Minute} {
		w.clock.SetTime(start.Add(after))
		w.reconcile()
		now := w.node()
		if now.Annotations[v1alpha1.AnnotationInterrupt] != "" || len(w.livePods()) != 1 {
			t.Fatalf("after %s: in flight %q, %d pods", after, now.Annotations[v1alpha1.AnnotationInterrupt], len(w.livePods()))
		}
		r := w.record("aa")
		if told := r.Wait != nil && tellsOf(r.Wait.Message, pod.Name); told != (after >= freshPatience) {
			t.Errorf("after %s it waits for %+v", after, r.Wait)
		}
	}
	if len(w.bodies) != 2 {
		t.Errorf("%d writes, want that of the later Skyhook, which waits, and the one that tells: %q", len(w.bodies), w.bodies)
	}
	catchUp()
	w.must(w.Client.Delete(t.Context(), pod))
	w.reconcile()
	if pods := w.livePods(); len(pods) != 1 || !workload.IsInterrupt(&pods[0]) {
		t.Errorf("when it is gone there are %d pods", len(pods))
	}
}

// TestNoSecondPodOfAPackage: the pod of the version before, which the operator before created, is not in the cache yet.
func TestNoSecondPodOfAPackage(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	pod := podOf(t, s)
	remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "2.0.0", Image: "x/a"} // edited, and planned
	w := newWorld(t, n, s)
	w.must(w.Client.Create(t.Context(), pod))
	catchUp := w.cacheWithoutPods()
	for range 2 {
		w.reconcile()
	}
	if pods := w.livePods(); len(pods) != 1 || len(w.bodies) != 0 {
		t.Errorf("%d pods of the package, wrote %q", len(pods), w.bodies)
	}
	catchUp()
	for range 3 {
		w.reconcile()
	}
	if pods := w.livePods(); len(pods) != 1 || pods[0].Name == pod.Name {
		t.Errorf("when the cache has it, it is not replaced: %d pods", len(pods))
	}
}

// TestProofIsAskedForOnce: one process asks once for each node on which it starts something, and for none else; a pod
// that may be there although creating it failed makes it ask again.
func TestProofIsAskedForOnce(t *testing.T) {
	s := newSkyhook("demo")
	idle := newNode()
	idle.Name = "idle"
	w := newWorld(t, s, newNode(), idle)
	lists := 0
	w.changeLive(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		},
	})
	for _, step := range []struct {
		refuse error
		lists  int
	}{{nil, 1}, {nil, 1}, {apierrors.NewTimeoutError("x", 1), 1}, {nil, 2}, {nil, 2}} {
		w.refuse = step.refuse
		for _, pod := range w.pods() {
			w.must(w.Client.Delete(t.Context(), &pod))
		}
		for range 2 {
			w.clock.SetTime(w.clock.Now().Add(15 * time.Minute))
			w.must(second(w.Reconcile(t.Context(), request("idle"))))
			w.reconcile()
			if w.refuse != nil {
				break
			}
		}
		if lists != step.lists || len(w.pods()) != 1 && step.refuse == nil {
			t.Errorf("%+v: %d lists, %d pods", step, lists, len(w.pods()))
		}
	}
}

// TestProofHoldsUpNobodyElse: while the API server does not list pods a Skyhook keeps its cordon and says why; another
// one continues.
func TestProofHoldsUpNobodyElse(t *testing.T) {
	early, late, n := newSkyhook("aa"), newSkyhook("zz"), newNode()
	n.Spec.Unschedulable = true
	done := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	e := done.Packages["a|1.0.0"]
	e.Config = map[string]string{}
	done.Packages["a|1.0.0"], done.Cordoned = e, true
	remember(t, n, "aa", done)
	w := newWorld(t, n, early, late)
	w.memory.Of(n).wrote = written{proved: true}
	w.away(apierrors.NewInternalError(errors.New("away")))
	var conditions int
	for k := range 20 {
		if result := w.reconcile(); result.RequeueAfter < time.Second {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
		if k == 0 && len(w.pods()) != 1 {
			t.Errorf("zz has %d pods", len(w.pods()))
		}
		conditions = len(w.node().Status.Conditions)
		w.clock.SetTime(w.clock.Now().Add(15 * time.Second))
	}
	r := w.record("aa")
	if !r.Cordoned || !w.node().Spec.Unschedulable || r.Wait == nil || !tellsOf(r.Wait.Message, "away") || conditions != 5 {
		t.Errorf("cordoned %t, unschedulable %t, waits for %+v, %d conditions", r.Cordoned, w.node().Spec.Unschedulable, r.Wait, conditions)
	}
	w.Live = w.Client
	w.reconcile()
	if r = w.record("aa"); r.Cordoned || w.node().Spec.Unschedulable || r.Wait != nil {
		t.Errorf("when it lists them again: %+v", r)
	}
}

// TestOrphansNeedProof: what a Skyhook that is gone holds stays as long as a pod of it may be there; nobody else waits
// for that.
func TestOrphansNeedProof(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	n.Spec.Unschedulable = true
	left := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	left.Cordoned = true
	remember(t, n, "gone", left)
	w := newWorld(t, n, s)
	w.must(w.Client.Create(t.Context(), podOf(t, newSkyhook("gone"))))
	catchUp := w.cacheWithoutPods()
	w.memory.Of(n).wrote = written{proved: true}
	w.reconcile()
	if !w.node().Spec.Unschedulable || len(w.livePods()) != 2 {
		t.Errorf("unschedulable %t, %d pods", w.node().Spec.Unschedulable, len(w.livePods()))
	}
	catchUp()
	w.must(w.Client.Delete(t.Context(), podOf(t, newSkyhook("gone"))))
	w.reconcile()
	if w.node().Spec.Unschedulable {
		t.Error("it stays cordoned")
	}
}

func tellsOf(message string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(message, part) {
			return false
		}
	}
	return true
}

package skyhook

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

func TestPace(t *testing.T) {
	var known state.Memory[memory]
	for _, step := range []struct {
		name       string
		uid        types.UID
		generation int64
		at         time.Duration
		forget     bool
		want       time.Duration
	}{
		{name: "the first pass is free", uid: "a", generation: 1},
		{name: "the next one waits", uid: "a", generation: 1, at: 300 * time.Millisecond, want: 700 * time.Millisecond},
		{name: "having waited does not make it wait longer", uid: "a", generation: 1, at: 999 * time.Millisecond, want: time.Millisecond},
		{name: "another Skyhook is free", uid: "b", generation: 1, at: 999 * time.Millisecond},
		{name: "a second later it is free", uid: "a", generation: 1, at: time.Second},
		{name: "that pass counts", uid: "a", generation: 1, at: 1500 * time.Millisecond, want: 500 * time.Millisecond},
		{name: "a new generation is free", uid: "a", generation: 2, at: 1500 * time.Millisecond},
		{name: "and counts as well", uid: "a", generation: 2, at: 2 * time.Second, want: 500 * time.Millisecond},
		{name: "what is forgotten is free", uid: "a", generation: 2, at: 2 * time.Second, forget: true},
		{name: "another one of that name is free", uid: "a2", generation: 2, at: 2 * time.Second},
	} {
		if step.forget {
			known.Forget("demo-" + string(step.uid[:1]))
		}
		s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo-" + string(step.uid[:1]), UID: step.uid, Generation: step.generation}}
		if got := known.Of(s).pace.wait(s.Generation, start.Add(step.at)); got != step.want {
			t.Errorf("%s: waits %s, want %s", step.name, got, step.want)
		}
	}
}

// TestGoneSkyhookIsForgotten, also when a pass over it ran as it went: the event of that comes after the pass.
func TestGoneSkyhookIsForgotten(t *testing.T) {
	s := newSkyhook("demo")
	w := newWorld(t, s)
	if _, err := w.Reconcile(t.Context(), request("demo")); err != nil || w.memory.Len() != 1 {
		t.Fatalf("error %v, %d remembered", err, w.memory.Len())
	}
	now := w.skyhook("demo")
	now.Finalizers = nil
	w.must(w.Client.Update(t.Context(), now))
	w.must(w.Client.Delete(t.Context(), now))
	if _, err := w.Reconcile(t.Context(), request("demo")); err != nil || w.memory.Len() != 0 {
		t.Errorf("error %v, %d remembered", err, w.memory.Len())
	}
}

func TestReconcileIsPaced(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"))
	for _, step := range []struct {
		after time.Duration
		wait  time.Duration
		want  string
	}{
		{0, passInterval, "patch Skyhook demo, create ControllerRevision demo-a-0f0f345055, patch status Skyhook demo"},
		{400 * time.Millisecond, 600 * time.Millisecond, ""},
		{600 * time.Millisecond, 0, ""}, // looked at, but nothing is to be written
	} {
		w.clock.SetTime(w.clock.Now().Add(step.after))
		got, err := w.Reconcile(t.Context(), request("demo"))
		if err != nil || got.RequeueAfter != step.wait {
			t.Fatalf("got %+v, %v", got, err)
		}
		if writes := w.took(); writes != step.want {
			t.Errorf("wrote %q, want %q", writes, step.want)
		}
	}
}

// TestStatusThatTheCacheLacks: a pass that saw an older status than the one written last is not the last pass: its plan
// may be the older one again, which needs no write, and what is written stays wrong.
func TestStatusThatTheCacheLacks(t *testing.T) {
	wrote := time.Unix(1000, 0)
	for _, c := range []struct {
		cached string
		after  time.Duration
		want   time.Duration
	}{
		{"99", 0, passInterval},
		{"99", passInterval - 1, passInterval},
		{"99", 10 * passInterval, 10 * passInterval}, // a watch that stalls, or an API server that was restored from a backup
		{"100", 0, 0},
		{"101", 0, 0},
		{"", 0, 0},
	} {
		var p pace
		s := newSkyhook("demo")
		s.ResourceVersion = "100"
		p.wait(s.Generation, wrote)
		p.wrote(s, wrote)
		s.ResourceVersion = c.cached
		if got := p.again(s, wrote.Add(c.after)); got != c.want {
			t.Errorf("cached %q, %s after the write: again in %s, want %s", c.cached, c.after, got, c.want)
		}
	}
	var p pace
	if got := p.again(newSkyhook("demo"), wrote); got != 0 {
		t.Errorf("nothing was written: again in %s", got)
	}
}

// TestPassesOverALargeFleetAreRarer: reading it takes at most a hundredth of the time, but nobody waits long for it.
func TestPassesOverALargeFleetAreRarer(t *testing.T) {
	begun := time.Unix(1000, 0)
	for _, c := range []struct {
		before, took time.Duration
		generation   int64
		want         time.Duration
	}{
		{0, 0, 1, passInterval},
		{time.Minute, passInterval / passShare, 1, passInterval},
		{time.Minute, 25 * time.Millisecond, 1, 2500 * time.Millisecond},
		{25 * time.Millisecond, time.Minute, 1, 2500 * time.Millisecond}, // once is no reason
		{time.Minute, time.Minute, 1, passIntervalMost},
		{time.Minute, time.Minute, 2, 0}, // somebody is looking
	} {
		p := pace{}
		p.wait(1, begun)
		p.read(c.before)
		p.read(c.took)
		if got := p.wait(c.generation, begun); got != c.want {
			t.Errorf("read in %s, then %s, generation %d: waits %s, want %s", c.before, c.took, c.generation, got, c.want)
		}
	}
}

func TestClaim(t *testing.T) {
	version := v1alpha1.GroupName + "/version"
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   string
	}{
		{"new", func(*v1alpha1.Skyhook) {}, "patch Skyhook demo"},
		{"ours", func(s *v1alpha1.Skyhook) {
			s.Finalizers, s.Annotations = []string{v1alpha1.Finalizer}, map[string]string{version: "v1"}
		}, ""},
		{"another operator's version", func(s *v1alpha1.Skyhook) {
			s.Finalizers, s.Annotations = []string{v1alpha1.Finalizer}, map[string]string{version: "v0"}
		}, "patch Skyhook demo"},
		{"others' finalizer and annotation", func(s *v1alpha1.Skyhook) {
			s.Finalizers, s.Annotations = []string{"x/y"}, map[string]string{"theirs": "x"}
		}, "patch Skyhook demo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			c.change(s)
			w := newWorld(t, s)
			w.must(w.newPass(w.skyhook("demo")).claim(t.Context()))
			if got := w.took(); got != c.want {
				t.Errorf("wrote %q", got)
			}
			now := w.skyhook("demo")
			if !controllerutil.ContainsFinalizer(now, v1alpha1.Finalizer) || now.Annotations[version] != "v1" {
				t.Errorf("finalizers %v, annotations %v", now.Finalizers, now.Annotations)
			}
			if !reflect.DeepEqual(now.Spec, s.Spec) || now.Generation != s.Generation {
				t.Errorf("the spec changed: %+v", now.Spec)
			}
			for _, f := range s.Finalizers {
				if !controllerutil.ContainsFinalizer(now, f) {
					t.Errorf("finalizer %s is lost", f)
				}
			}
			if now.Annotations["theirs"] != s.Annotations["theirs"] {
				t.Error("an annotation is lost")
			}
		})
	}
}

// A plan made from an old view is refused, which is no error to report.
func TestStaleStatusIsTriedAgain(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"))
	stale := w.skyhook("demo")
	w.must(w.newPass(stale.DeepCopy()).claim(t.Context()))
	if err := w.newPass(stale).writeStatus(t.Context(), v1alpha1.SkyhookStatus{Status: v1alpha1.StatusComplete}); err == nil {
		t.Error("an old view overwrites the status")
	}
	if got := w.skyhook("demo").Status.Status; got != "" {
		t.Errorf("status is %q", got)
	}
}

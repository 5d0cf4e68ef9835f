package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

// until lets time pass until something is so; false if it never is.
func (s Scene) until(is func() bool) bool {
	for range 20_000 {
		if is() {
			return true
		}
		s.Pass(100 * time.Millisecond)
	}
	return false
}

// complete reports whether a Skyhook is complete.
func (s Scene) complete(name string) bool {
	sk := s.w.skyhook(name)
	return sk != nil && sk.Status.Status == v1alpha1.StatusComplete
}

// noFindings ends a test with what the oracle found.
func (s Scene) noFindings(t *testing.T) {
	t.Helper()
	for _, f := range s.w.findings {
		t.Errorf("%s: %s", f.Name, f.Message)
	}
}

// TestCreatedAnewTriesAgain: a Skyhook that failed for good, and is deleted, corrected and created again, of the same
// generation, tries again.
func TestCreatedAnewTriesAgain(t *testing.T) {
	for _, canary := range []bool{false, true} {
		var right v1alpha1.SkyhookSpec
		s := NewScene(3, canary, func(_ *Plan, spec *v1alpha1.SkyhookSpec) {
			pkg := spec.Packages["driver"]
			pkg.MaxRetries = new(int32(0))
			spec.Packages["driver"] = pkg
			right = *spec.DeepCopy()
			pkg.ConfigMap = map[string]string{"a": "bad-apply"}
			spec.Packages["driver"] = pkg
		})
		s.Pass(10 * time.Minute)
		s.Delete()
		if !s.until(func() bool { return s.w.skyhook("gpu") == nil }) {
			t.Fatal("it does not go")
		}
		s.Pass(time.Minute)
		s.w.createSkyhook(SkyhookPlan{Name: "gpu", Spec: right})
		s.Pass(time.Hour)
		if !s.complete("gpu") {
			t.Errorf("with a canary %t: %s", canary, s.w.state())
		}
		s.noFindings(t)
	}
}

// TestPodThatNeverStarts: a kubelet that starts no container stops the rollout in the end, also under a taint, and does not
// keep an earlier Skyhook from its reboot.
func TestPodThatNeverStarts(t *testing.T) {
	s := NewScene(4, true, func(p *Plan, _ *v1alpha1.SkyhookSpec) {
		p.Scripts = []Script{{Kind: scriptCreating, Node: "n00", Stage: v1alpha1.StageConfig, Times: 1 << 20}}
	})
	s.Pass(20 * time.Minute)
	stopped := func() bool {
		return s.w.skyhook("gpu").Status.CompartmentStatuses["__default__"].BatchState.ShouldStop
	}
	if stopped() {
		t.Error("a large image takes longer")
	}
	s.Pass(20 * time.Minute)
	if !stopped() {
		t.Errorf("not stopped: %s", s.w.state())
	}
	s.noFindings(t)

	s = NewScene(2, false, func(p *Plan, spec *v1alpha1.SkyhookSpec) {
		base := *spec.DeepCopy()
		base.Priority = 100
		base.Packages = map[string]v1alpha1.Package{"kernel": {
			Image: "registry.example/kernel", Version: "1.0.0", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot},
		}}
		p.Skyhooks = []SkyhookPlan{{Name: "base", Spec: base}}
		p.Scripts = []Script{{Kind: scriptCreating, Skyhook: "gpu", Node: "n00", Times: 1 << 20}}
	})
	s.Pass(20 * time.Minute)
	s.w.editSkyhook("base", func(sk *v1alpha1.Skyhook) {
		pkg := sk.Spec.Packages["kernel"]
		pkg.Version = "2.0.0"
		sk.Spec.Packages["kernel"] = pkg
	})
	s.Pass(time.Hour)
	if !s.complete("base") {
		t.Errorf("the earlier one waits: %s", s.w.state())
	}
	s.noFindings(t)
}

// TestViewFromLongAgo: a new leader whose cache has a Skyhook as it was before a node finished with its last permit does not
// undo what is done there.
func TestViewFromLongAgo(t *testing.T) {
	s := NewScene(3, false, func(_ *Plan, spec *v1alpha1.SkyhookSpec) {
		pkg := spec.Packages["driver"]
		pkg.ConfigMap, pkg.Interrupt = nil, &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
		spec.Packages["driver"] = pkg
	})
	w := s.w
	note := func(node, key string) string { return w.node(node).Annotations[v1alpha1.KeyPrefix+key] }
	if !s.until(func() bool { return s.complete("gpu") }) {
		t.Fatal("not complete")
	}
	s.Pass(time.Minute)
	s.Skyhook(func(sk *v1alpha1.Skyhook) {
		pkg := sk.Spec.Packages["driver"]
		pkg.Version = "2.0.0"
		sk.Spec.Packages["driver"] = pkg
	})
	if !s.until(func() bool {
		return strings.HasPrefix(note("n00", "permit_gpu"), "2/0") && note("n01", "begun_gpu") == "true"
	}) {
		t.Fatal("n01 never begins")
	}
	back := 0
	for n := 1; n <= len(w.past.before[cluster.Skyhooks]) && back == 0; n++ {
		sk, ok := w.past.behind(cluster.Skyhooks, n)[0].(*v1alpha1.Skyhook)
		if ok && sk.Generation == 1 && len(sk.Status.Permits) == 1 && sk.Status.Permits[0].Node == "n00" {
			back = n
		}
	}
	w.kill(w.operators[0], "ends")
	w.old = map[cluster.Kind]int{cluster.Skyhooks: back}
	w.startOperator(0)
	w.old = nil
	o := w.operators[0]
	o.late, o.from = cluster.Skyhooks, w.step+100_000
	s.Pass(time.Minute)
	if n := w.node("n00"); back == 0 || n.Spec.Unschedulable || strings.Contains(note("n00", "nodeState_gpu"), "1.0.0") {
		t.Errorf("%d changes back, n00 is disturbed for what was: %s", back, w.state())
	}
	o.from = 0
	s.Pass(time.Hour)
	if !s.complete("gpu") {
		t.Errorf("not complete: %s", w.state())
	}
	s.noFindings(t)
}

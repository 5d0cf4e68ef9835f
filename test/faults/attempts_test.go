package faults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// behaves lets these scripts and no others go on.
func (w *World) behaves(scripts ...Script) {
	w.scripts = nil
	for _, s := range scripts {
		w.scripts = append(w.scripts, scriptState{Script: s, left: map[string]int{}})
	}
}

// failsEverywhere is a script of a package that no host can have.
var failsEverywhere = Script{Kind: scriptFails, Stage: v1alpha1.StageApply, Times: 1 << 20}

// TestOneAttemptStopsNothing: one failed attempt is no verdict, however long it takes until the next one succeeds.
func TestOneAttemptStopsNothing(t *testing.T) {
	for name, then := range map[string]func(*World){
		"the next attempt takes seven minutes": func(w *World) {
			w.behaves(Script{Kind: scriptSlow, Stage: v1alpha1.StageApply, Times: 420})
		},
		"an earlier Skyhook comes first, and takes long": func(w *World) {
			w.behaves(Script{Kind: scriptSlow, Skyhook: "base", Stage: v1alpha1.StageApply, Times: 500})
			w.createSkyhook(SkyhookPlan{Name: "base", Spec: v1alpha1.SkyhookSpec{
				Sequencing: v1alpha1.SequencingNode, Priority: 100,
				Packages: map[string]v1alpha1.Package{"base": {Image: "registry.example/base", Version: "1.0.0"}},
			}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(6, func(p *Plan, s *v1alpha1.SkyhookSpec) {
				canary(p, s)
				p.Scripts = []Script{{Kind: scriptFails, Skyhook: "gpu", Stage: v1alpha1.StageApply, Times: 1}}
			})
			failed, stopped := false, ""
			w.pass(2*time.Hour, func() {
				if !failed && w.skyhook("gpu").Status.NodeStatus["n00"] == v1alpha1.StatusErroring {
					failed = true
					then(w)
				}
				if c := trueCondition(w.skyhook("gpu"), v1alpha1.ConditionRolloutStopped); c != nil && stopped == "" {
					stopped = w.now.Sub(epoch).String() + ": " + c.Message
				}
			})
			if s := w.skyhook("gpu"); !failed || stopped != "" || s.Status.Nodes.Complete != 6 {
				t.Errorf("failed %t, %d complete, stopped %q", failed, s.Status.Nodes.Complete, stopped)
			}
		})
	}
}

// TestDisabledWhileStopped: the canary gives its permit back while the Skyhook is disabled, and its host is repaired.
func TestDisabledWhileStopped(t *testing.T) {
	w := fleetOf(6, func(p *Plan, s *v1alpha1.SkyhookSpec) {
		canary(p, s)
		reboots(s)
		p.Scripts = []Script{failsEverywhere}
	})
	w.pass(time.Hour, func() {})
	w.editSkyhook("gpu", annotated(v1alpha1.AnnotationDisable, "true"))
	w.pass(10*time.Minute, func() {})
	w.behaves()
	w.editSkyhook("gpu", annotated(v1alpha1.AnnotationDisable, ""))
	w.pass(10*time.Hour, func() {})
	if s := w.skyhook("gpu"); s.Status.Nodes.Complete != 6 {
		t.Errorf("%d complete, %+v", s.Status.Nodes.Complete, trueCondition(s, v1alpha1.ConditionRolloutStopped))
	}
}

// TestCanaryLateInARollout: another content, bad for every host, comes after half of the nodes were through a batch of the
// one before: those are no progress of it.
func TestCanaryLateInARollout(t *testing.T) {
	standard := func(p *Plan, s *v1alpha1.SkyhookSpec) {
		canary(p, s)
		p.Policies[0].Spec.Default.Strategy.Exponential.SafetyLimit = nil
		p.Policies[0].Spec.Default.Budget = v1alpha1.Budget{Count: new(4)}
	}
	t.Run("they are complete", func(t *testing.T) {
		w := fleetOf(20, func(p *Plan, s *v1alpha1.SkyhookSpec) {
			standard(p, s)
			p.Scripts = []Script{{Kind: scriptSlow, Stage: v1alpha1.StageApply, Times: 60}}
		})
		edited, hit := false, map[string]bool{}
		w.pass(3*time.Hour, func() {
			if !edited && w.skyhook("gpu").Status.Nodes.Complete >= 11 {
				edited = true
				w.behaves(failsEverywhere)
				w.editSkyhook("gpu", func(s *v1alpha1.Skyhook) {
					pkg := s.Spec.Packages["driver"]
					pkg.Env = []corev1.EnvVar{{Name: "BAD", Value: "1"}}
					s.Spec.Packages["driver"] = pkg
				})
			}
			for _, pod := range w.cluster.Pods() {
				if _, ours := ownerOf(pod); ours && edited && hasEnv(pod, "BAD") {
					hit[pod.Spec.NodeName] = true
				}
			}
		})
		if !edited || len(hit) != 1 {
			t.Errorf("edited %t; %d nodes got what is bad: %v", edited, len(hit), sortedKeys(hit))
		}
	})
	t.Run("they are broken", func(t *testing.T) {
		w := fleetOf(10, func(p *Plan, s *v1alpha1.SkyhookSpec) {
			standard(p, s)
			p.Policies[0].Spec.Default.Budget = v1alpha1.Budget{Percent: new(100)}
			for _, n := range []string{"n03", "n04", "n05", "n06"} {
				p.Scripts = append(p.Scripts, Script{Kind: scriptBreaks, Node: n, Stage: v1alpha1.StageApply})
			}
		})
		w.pass(time.Hour, func() {})
		w.behaves(Script{Kind: scriptFails, Stage: v1alpha1.StageConfig, Times: 1 << 20}, failsEverywhere)
		w.editMode(badContent)
		hit := map[string]bool{}
		w.pass(3*time.Hour, func() {
			for _, pod := range w.cluster.Pods() {
				if _, ours := ownerOf(pod); ours && w.contentOf(pod).config["mode"] == badContent {
					hit[pod.Spec.NodeName] = true
				}
			}
		})
		if len(hit) != 1 {
			t.Errorf("%d nodes got what is bad: %v", len(hit), sortedKeys(hit))
		}
	})
}

func hasEnv(pod *corev1.Pod, name string) bool {
	for _, c := range pod.Spec.InitContainers {
		for _, e := range c.Env {
			if e.Name == name {
				return true
			}
		}
	}
	return false
}

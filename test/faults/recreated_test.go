package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// guardedFleet is a Skyhook that workloads wait for, on nodes that register with the runtime taint or are new.
func guardedFleet(registered, uninstall bool) Scene {
	s := NewScene(2, false, func(_ *Plan, spec *v1alpha1.SkyhookSpec) {
		spec.RuntimeRequired, spec.AutoTaintNewNodes = true, !registered
		spec.InterruptionBudget.Count = new(1)
		pkg := spec.Packages["driver"]
		pkg.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
		pkg.Uninstall = &v1alpha1.Uninstall{Enabled: &uninstall}
		spec.Packages["driver"] = pkg
	})
	if registered {
		for _, k := range s.w.kubelets {
			s.w.editNode(k.plan.Name, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, runtimeTaint) })
		}
	}
	return s
}

// recreate is what a hook of Helm does before it creates the Skyhook again.
func (s Scene) recreate(t *testing.T, each func()) {
	t.Helper()
	spec := *s.w.skyhook("gpu").Spec.DeepCopy()
	s.Delete()
	if !s.until(func() bool { each(); return s.w.skyhook("gpu") == nil }) {
		t.Fatalf("it does not go: %s", s.w.state())
	}
	s.w.createSkyhook(SkyhookPlan{Name: "gpu", Spec: spec})
}

// open are the nodes that workloads may come to although they are half done.
func (s Scene) open() (all []string) {
	for _, k := range s.w.kubelets {
		if n := s.w.node(k.plan.Name); !taint.Has(n, runtimeTaint) && n.Annotations[v1alpha1.AnnotationStatusPrefix+"gpu"] != "complete" {
			all = append(all, n.Name)
		}
	}
	return all
}

// TestReplacedSkyhookTakesOver: a Skyhook that is deleted and created again, at whatever moment of its rollout, takes over
// what nodes have of the one before: nobody has to accept their records, no workload comes to a node that is half done,
// and what is installed is not installed again.
func TestReplacedSkyhookTakesOver(t *testing.T) {
	for _, registered := range []bool{true, false} {
		for _, uninstall := range []bool{false, true} {
			for at := 10 * time.Second; at < 8*time.Minute; at += 30 * time.Second {
				t.Run(fmt.Sprintf("registered=%t uninstall=%t after %s", registered, uninstall, at), func(t *testing.T) {
					replaced(t, guardedFleet(registered, uninstall), at, uninstall)
				})
			}
		}
	}
}

func replaced(t *testing.T, s Scene, at time.Duration, uninstall bool) {
	t.Helper()
	s.Pass(at)
	boots, done := map[string]int{}, map[string]bool{}
	for _, k := range s.w.kubelets {
		done[k.plan.Name] = len(s.open()) == 0 && !taint.Has(s.w.node(k.plan.Name), runtimeTaint)
		boots[k.plan.Name] = k.boots
	}
	was := map[string]bool{}
	for _, name := range s.open() {
		was[name] = true
	}
	look := func() {
		for _, name := range s.open() {
			if !was[name] && !done[name] {
				t.Fatalf("workloads may come to %s: %s", name, s.w.state())
			}
		}
		for _, k := range s.w.kubelets {
			if wait := s.w.node(k.plan.Name).Annotations[v1alpha1.AnnotationWaitPrefix+"gpu"]; strings.Contains(wait, v1alpha1.ReasonNodeStateUnsealed) {
				t.Fatalf("%s waits for a person: %s", k.plan.Name, wait)
			}
		}
	}
	s.recreate(t, look)
	if !s.until(func() bool { look(); return s.complete("gpu") }) {
		t.Fatalf("it does not become complete: %s", s.w.state())
	}
	for _, k := range s.w.kubelets {
		if done[k.plan.Name] && !uninstall && k.boots != boots[k.plan.Name] {
			t.Errorf("%s was done, and rebooted %d times more", k.plan.Name, k.boots-boots[k.plan.Name])
		}
		if !uninstall && k.boots > 2 {
			t.Errorf("%s rebooted %d times", k.plan.Name, k.boots-1)
		}
		if taint.Has(s.w.node(k.plan.Name), runtimeTaint) {
			t.Errorf("%s is complete, and keeps the taint", k.plan.Name)
		}
	}
	s.noFindings(t)
}

// TestTaintOfADeletedSkyhook: the taint that the operator added goes five minutes after the Skyhook, and nothing is left of
// it; one that the node registered with stays.
func TestTaintOfADeletedSkyhook(t *testing.T) {
	for _, registered := range []bool{true, false} {
		s := guardedFleet(registered, false)
		s.Pass(40 * time.Second)
		s.Delete()
		if !s.until(func() bool { return s.w.skyhook("gpu") == nil }) {
			t.Fatal("it does not go")
		}
		s.Pass(taint.Grace - time.Minute)
		for _, k := range s.w.kubelets {
			if !taint.Has(s.w.node(k.plan.Name), runtimeTaint) {
				t.Errorf("registered %t: %s is open at once", registered, k.plan.Name)
			}
		}
		s.Pass(2 * time.Minute)
		for _, k := range s.w.kubelets {
			n := s.w.node(k.plan.Name)
			if _, marked := n.Annotations[taint.Annotation(runtimeTaint)]; marked || taint.Has(n, runtimeTaint) != registered {
				t.Errorf("registered %t: %s has %v, %v", registered, n.Name, n.Spec.Taints, n.Annotations)
			}
		}
		s.noFindings(t)
	}
}

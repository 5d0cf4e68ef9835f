package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// TestReplacedHostStartsOver: a host that is installed again, at whatever moment of a rollout, gets everything again once
// its machine id had outlived a boot, and no workload comes before that.
func TestReplacedHostStartsOver(t *testing.T) {
	noticed := 0
	for _, registered := range []bool{true, false} {
		for at := 10 * time.Second; at < 16*time.Minute; at += 25 * time.Second {
			t.Run(fmt.Sprintf("registered=%t after %s", registered, at), func(t *testing.T) {
				s := guardedFleet(registered, false)
				s.Pass(at)
				k, n := s.w.kubelet("n00"), s.w.node("n00")
				known := record.ReadHost(n.Annotations[v1alpha1.AnnotationHostPrefix+"gpu"])
				if known.MachineID == "" || known.BootID != "" || !k.up {
					return // nobody can tell
				}
				noticed++
				k.reinstalls = true
				k.goDown()
				s.until(func() bool { return k.up && readyNode(s.w.node("n00")) })
				s.Pass(time.Second)
				if bare := len(k.host.installed) == 0; bare && !taint.Has(s.w.node("n00"), runtimeTaint) {
					t.Errorf("workloads may come to an empty host: %s", s.w.state())
				}
				if !s.until(func() bool { return s.complete("gpu") && len(k.host.installed) > 0 }) {
					t.Fatalf("it does not become complete: %s", s.w.state())
				}
				s.w.checkWhole()
				s.noFindings(t)
			})
		}
	}
	if noticed < 20 {
		t.Errorf("%d hosts were installed again", noticed)
	}
}

// TestMachineIDOfEachBoot: a host that gets another machine id at each boot is none that was replaced.
func TestMachineIDOfEachBoot(t *testing.T) {
	s := NewScene(1, false, func(p *Plan, spec *v1alpha1.SkyhookSpec) {
		p.Nodes[0].Ephemeral = true
		pkg := spec.Packages["driver"]
		pkg.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
		spec.Packages["driver"] = pkg
	})
	if !s.until(func() bool { return s.complete("gpu") }) {
		t.Fatalf("it does not become complete: %s", s.w.state())
	}
	states := v1alpha1.AnnotationNodeStatePrefix + "gpu"
	before := s.w.node("n00").Annotations[states]
	for range 3 {
		s.w.kubelet("n00").goDown()
		s.Pass(10 * time.Minute)
	}
	if after := s.w.node("n00").Annotations[states]; after != before || s.w.kubelet("n00").boots != 5 {
		t.Errorf("%d boots, and the record is %s, not %s", s.w.kubelet("n00").boots, after, before)
	}
	s.noFindings(t)
}

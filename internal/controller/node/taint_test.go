package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// TestTaintOfANewNodeComesFirst: between two writes a workload may be bound.
func TestTaintOfANewNodeComesFirst(t *testing.T) {
	for added, want := range map[bool]string{true: "record conditions", false: "conditions record"} {
		n := newNode()
		w := newWorld(t, n)
		s := newSkyhook("demo")
		p := w.pass(s)
		p.items = []*item{{skyhook: s, decision: lifecycle.Decision{Record: record.Node{Status: "blocked"}}}}
		p.taint = taint.Change{Taints: &[]corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}
		if added {
			p.taint.Mark = new(true)
		}
		w.execute(t.Context(), p)
		if got := strings.Join(w.order, " "); len(p.errs) != 0 || got != want {
			t.Errorf("added %t: wrote %s, want %s; %v", added, got, want, p.errs)
		}
		if p.wrote.resourceVersion != w.node().ResourceVersion {
			t.Error("the last write is not the one that is remembered")
		}
	}
}

package faults

import (
	"math/rand/v2"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestEveryInterruptIsDrawn, so that worlds have all that the API allows.
func TestEveryInterruptIsDrawn(t *testing.T) {
	g := &generator{Rand: rand.New(rand.NewPCG(1, 1))}
	drawn := map[v1alpha1.InterruptType]bool{}
	for range 1000 {
		drawn[g.interrupt().Type] = true
	}
	for _, kind := range v1alpha1.InterruptTypes() {
		if !drawn[kind] {
			t.Errorf("%s never", kind)
		}
	}
}

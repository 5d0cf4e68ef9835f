//go:build integration

package operator_test

import (
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	fleetSize   = 20
	fleetBudget = fleetSize / 5
)

// TestBudgetHoldsForEveryKindOfWork: 20 % of 20 nodes, looked at with every change of a pod and of the permits, while
// the operator dies and comes back. That is how permits do with an API server; what is granted on larger fleets, with
// other budgets and after more crashes is tried by TestBudgetHolds of internal/rollout, and by test/faults.
func TestBudgetHoldsForEveryKindOfWork(t *testing.T) {
	s := alone(t, fleetSize)
	stopPods, stopPermits := s.watchBudget(s.name, fleetBudget), s.watchPermits(s.name, fleetBudget)
	x := s.create(map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", map[string]string{"k": "v"}, nil)}, func(x *v1alpha1.Skyhook) {
		x.Spec.InterruptionBudget.Percent = new(20)
	})
	for _, phase := range []struct {
		name    string
		crashes []int // at this many complete nodes
		change  func(*v1alpha1.Package)
		ran     string
	}{
		{name: "install", crashes: []int{3, 12}, ran: "fw config"},
		{name: "upgrade", crashes: []int{5}, ran: "fw upgrade", change: func(p *v1alpha1.Package) { p.Version = "1.1.0" }},
		{name: "config", crashes: []int{10}, ran: "fw config", change: func(p *v1alpha1.Package) { p.ConfigMap["k"] = "w" }},
		{name: "uninstall", crashes: []int{3, 16}, ran: "fw uninstall", change: func(p *v1alpha1.Package) { p.Uninstall.Apply = true }},
	} {
		before := s.count(phase.ran)
		if phase.change != nil {
			x = s.set(x, phase.change)
		}
		for _, complete := range phase.crashes {
			s.until(x, phase.name+" continues", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete >= complete })
			s.stop()
			s.startOperator()
		}
		s.until(x, phase.name+" is over", func(x *v1alpha1.Skyhook) bool {
			return x.Status.Status == v1alpha1.StatusComplete && len(x.Status.Permits) == 0
		})
		if n := s.count(phase.ran) - before; n < fleetSize {
			t.Errorf("%s: stage %q ran %d times", phase.name, phase.ran, n)
		}
	}
	stopPods()
	if most := stopPermits(); most < fleetBudget/2 {
		t.Errorf("at most %d nodes had a permit; the budget of %d was not used", most, fleetBudget)
	}
}

// watchPermits fails the test if more than limit nodes hold a permit at any change of the Skyhook. What it returns ends
// that and gives the most that were seen.
func (f *cluster) watchPermits(skyhook string, limit int) (stop func() int) {
	f.t.Helper()
	w, err := f.client.Watch(f.t.Context(), &v1alpha1.SkyhookList{}, client.MatchingFields{"metadata.name": skyhook})
	f.must(err)
	var wg sync.WaitGroup
	most := 0
	wg.Go(func() {
		for e := range w.ResultChan() {
			if x, ok := e.Object.(*v1alpha1.Skyhook); ok {
				most = max(most, len(x.Status.Permits))
				if len(x.Status.Permits) > limit {
					f.t.Errorf("%d nodes hold a permit, budget is %d", len(x.Status.Permits), limit)
				}
			}
		}
	})
	return func() int { w.Stop(); wg.Wait(); return most }
}

//go:build integration

package operator_test

import (
	"sync"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	fleetSize   = 200
	fleetBudget = fleetSize / 10
)

// TestBudgetHoldsForEveryKindOfWork: 10 % of 200 nodes, looked at with every change of a pod and of the permits, while
// the operator dies and comes back ten times.
func TestBudgetHoldsForEveryKindOfWork(t *testing.T) {
	f := newCluster(t, fleetSize)
	ran := f.record()
	s := f.skyhook("fleet", map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", map[string]string{"k": "v"}, nil)})
	s.Spec.InterruptionBudget.Percent = ptr.To(10)
	stopPods, stopPermits := f.watchBudget(s.Name, fleetBudget), f.watchPermits(s, fleetBudget)
	f.must(f.client.Create(t.Context(), s))
	for _, phase := range []struct {
		name    string
		crashes []int // at this many complete nodes
		change  func(*v1alpha1.Skyhook)
		ran     string
	}{
		{name: "install", crashes: []int{5, 70, 140}, ran: "fw config"},
		{name: "upgrade", crashes: []int{30, 150}, ran: "fw upgrade", change: func(s *v1alpha1.Skyhook) {
			p := s.Spec.Packages["fw"]
			p.Version = "1.1.0"
			s.Spec.Packages["fw"] = p
		}},
		{name: "config", crashes: []int{10, 90}, ran: "fw config", change: func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].ConfigMap["k"] = "w" }},
		{name: "uninstall", crashes: []int{20, 100, 190}, ran: "fw uninstall", change: func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].Uninstall.Apply = true }},
	} {
		before := ran.count(phase.ran)
		if phase.change != nil {
			s = f.edit(s, phase.change)
		}
		for _, complete := range phase.crashes {
			f.until(s, phase.name+" goes on", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete >= complete })
			f.stop()
			f.startOperator()
		}
		f.until(s, phase.name+" is over", func(x *v1alpha1.Skyhook) bool {
			return x.Status.Status == v1alpha1.StatusComplete && len(x.Status.Permits) == 0
		})
		if n := ran.count(phase.ran) - before; n < fleetSize {
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
func (f *cluster) watchPermits(s *v1alpha1.Skyhook, limit int) (stop func() int) {
	f.t.Helper()
	w, err := f.client.Watch(f.t.Context(), &v1alpha1.SkyhookList{}, client.MatchingFields{"metadata.name": s.Name})
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

package node

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPermitOfPredecessor: a node that was registered after the last permits of the batches were given starts nothing with
// that of the one before it, and gives it back, whether or not the plan has seen it.
func TestPermitOfPredecessor(t *testing.T) {
	for _, c := range []struct {
		name    string
		created time.Duration
		deleted bool
		starts  bool
	}{
		{name: "before", created: -time.Minute, starts: true},
		{name: "after", created: time.Minute},
		{name: "after, and the Skyhook is deleted: a permit tells no time", created: time.Minute, deleted: true, starts: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			n.CreationTimestamp = metav1.NewTime(start.Add(c.created))
			s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{
				"a": {BatchState: &v1alpha1.BatchState{Members: []int32{3}, Granted: &metav1.Time{Time: start}}},
				"b": {BatchState: &v1alpha1.BatchState{Granted: &metav1.Time{Time: start.Add(-time.Hour)}}}, "c": {},
			}
			if c.deleted {
				s.Finalizers, s.DeletionTimestamp = []string{v1alpha1.Finalizer}, &metav1.Time{Time: start}
			}
			if p := permitOf(s, n); p == nil || p.Revoked == c.starts || s.Status.Permits[0].Revoked {
				t.Fatalf("permit %+v of %+v", p, s.Status.Permits)
			}
			if c.deleted {
				return
			}
			w := newWorld(t, s, n)
			w.reconcile()
			got, pods := w.record(s.Name), len(w.pods())
			if begun := pods > 0; begun != c.starts || got.Begun != c.starts || (got.FinishedPermit == "1/3") == c.starts {
				t.Errorf("%d pods, record %+v", pods, got)
			}
		})
	}
}

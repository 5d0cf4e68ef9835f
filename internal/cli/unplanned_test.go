package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestUnplanned: what is new, or is being deleted, is no edit that waits for the operator.
func TestUnplanned(t *testing.T) {
	for _, c := range []struct {
		name             string
		generation, seen int64
		deleted, want    bool
	}{
		{name: "new", generation: 1, seen: -1},
		{name: "without a status", generation: 1},
		{name: "planned", generation: 2, seen: 2},
		{name: "edited", generation: 3, seen: 2, want: true},
		{name: "deleted, which counts as an edit", generation: 3, seen: 2, deleted: true},
	} {
		sk := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: c.generation}}
		sk.Status.ObservedGeneration = c.seen
		if c.deleted {
			sk.DeletionTimestamp = &metav1.Time{}
		}
		if got := unplanned(sk); (got != "") != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

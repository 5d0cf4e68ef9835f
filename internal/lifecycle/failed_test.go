package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

var failedTables = []group{
	{"failing passes", failingPasses},
}

// failingPasses: what is decided is not done, or not all of it can be seen.
var failingPasses = []row{
	{
		name: "a pod is to start",
		spec: "a@1.0", gate: "failed",
		want: "a@1.0 apply:in_progress run=now; start a apply; tell PassFailed; is in_progress",
	},
	{
		name: "a pod runs",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "failed",
		want: "tell PassFailed; is in_progress",
	},
	{
		name: "a pod is to go", spec: "a@1.0", node: "a@1.0 post-interrupt:complete", pods: "a@1.0 config running run=r0",
		gate: "failed",
		want: "delete a-config; tell PassFailed; is complete",
	},
	{
		name: "since when stays",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "failed told=PassFailed/-5m",
		want: "tell PassFailed since=-5m0s; is in_progress",
	},
	{
		name: "only another spec helps: that is said, as others go by it",
		spec: "b@1.0 needs=a@1.0", gate: "failed",
		want: "wait b DependencyMissing; tell DependencyMissing; is blocked; returned",
	},
	{
		name: "it is over",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "told=PassFailed/-5m",
		want: "is in_progress",
	},
	{
		name: "the drain's time continues when it is over",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=Evicting told=PassFailed/-1m/-9m",
		want: "wait a Evicting; tell Evicting since=-9m0s; evict; again 5s; is in_progress",
	},
}

// TestFailedWaitIsNoVerdict: budgets and batches go by who frees a wait, and by whether it lasts too long: by what the
// failing keeps from being told.
func TestFailedWaitIsNoVerdict(t *testing.T) {
	o := observation(t, row{spec: "a@1.0 interrupt=reboot", gate: "ours late=Evicting failed told=DrainTimeout/-9m"})
	w := lifecycle.Next(o).Record.Wait
	want := &record.Wait{
		Package: "a", Reason: v1alpha1.ReasonPassFailed, Message: "forbidden", Since: w.Since,
		DrainSince: o.Record.Wait.Since,
		Frees:      record.FreesOther, Overdue: true,
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	o.Record.Wait, o.Drain = w, nil // nobody could look
	if next := lifecycle.Next(o).Record.Wait; !next.Overdue || next.Frees != record.FreesOther ||
		next.DrainSince != w.DrainSince {
		t.Errorf("while nobody can look: %+v", next)
	}
	at := observation(t, row{spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "failed"})
	n := lifecycle.Next(at).Record
	if f := lifecycle.FactsOf("", at.Wanted, n, nil, true); f != (lifecycle.Facts{InProgress: true}) {
		t.Errorf("a node whose passes fail: %+v", f)
	}
}

// TestStay: nothing is done, and the record says why, on a node that has none, too.
func TestStay(t *testing.T) {
	for _, r := range []row{
		{name: "no record", spec: "a@1.0", gate: "failed no-permit", want: "waiting"},
		{
			name: "in progress", spec: "a@1.0", node: "a@1.0 apply:erroring", pods: "a@1.0 apply failing",
			gate: "failed status=erroring ours", want: "erroring",
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			o := observation(t, r)
			d := lifecycle.Stay(o)
			if len(d.Steps)+len(d.Start)+len(d.Delete) > 0 || d.Unschedulable != nil || d.Record.Cordoned != o.Record.Cordoned ||
				d.Erroring != (r.want == "erroring") || string(d.Record.Status) != r.want ||
				!cmp.Equal(d.Record.Packages, o.Record.Packages) {
				t.Errorf("got %+v", d)
			}
			if w := d.Record.Wait; w == nil || w.Reason != v1alpha1.ReasonPassFailed || w.Message != "forbidden" {
				t.Errorf("the record tells %+v", w)
			}
		})
	}
}

// TestRemoveTellsOfFailingPasses before it tells of a pod that does not end: it may be what cannot be deleted.
func TestRemoveTellsOfFailingPasses(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running ends=-5m",
		gate: "failed told=PassFailed/-5m",
	})
	w := lifecycle.Remove(o).Record.Wait
	if w == nil || w.Reason != v1alpha1.ReasonPassFailed || now.Sub(w.Since.Time) != 5*time.Minute {
		t.Errorf("the record tells %+v", w)
	}
}

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var failedTables = []group{
	{"failing passes", failingPasses},
}

// failingPasses: what is decided is not done, or not all of it can be seen.
var failingPasses = []row{
	when("a pod is to start",
		spec(pkg(a)), failedPass,
		want(apply.inProgress(a).anew(), apply.start(a), tell(passFailed), is(inProgress))),
	when("a pod runs",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a)), failedPass,
		want(tell(passFailed), is(inProgress))),
	when("a pod is to go",
		spec(pkg(a)), node(postInterrupt.complete(a)), pods(config.running(a).run("r0")), failedPass,
		want(config.delete(a), tell(passFailed), is(complete))),
	when("since when stays",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a)), failedPass, told(passFailed, -5*minute),
		want(tell(passFailed).since(-5*minute), is(inProgress))),
	when("only another spec helps: that is said, as others go by it",
		spec(pkg(b).needs(a)), failedPass,
		want(wait(b, dependencyMissing), tell(dependencyMissing), is(blocked), returned)),
	when("it is over",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a)), told(passFailed, -5*minute),
		want(is(inProgress))),
	when("the drain's time continues when it is over",
		spec(pkg(a).interrupt(reboot)), ourCordon, drainLeft(evicting), told(passFailed, -minute, -9*minute),
		want(wait(a, evicting), tell(evicting).since(-9*minute), evict, again(5*second), is(inProgress))),
}

// TestFailedWaitIsNoVerdict: budgets and batches go by who frees a wait, and by whether it lasts too long: by what the
// failing keeps from being told.
func TestFailedWaitIsNoVerdict(t *testing.T) {
	o := observation(see(spec(pkg(a).interrupt(reboot)), ourCordon, drainLate(evicting), failedPass, told(drainTimeout, -9*minute)))
	w := lifecycle.Next(o).Record.Wait
	want := &record.Wait{
		Package: "a", Reason: v1alpha1.ReasonPassFailed, Message: "forbidden", Since: w.Since,
		DrainSince: o.Record.Wait.Since,
		Frees:      record.FreesOther, Overdue: true, Generation: generation,
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	o.Record.Wait, o.Drain = w, nil // nobody could look
	if next := lifecycle.Next(o).Record.Wait; !next.Overdue || next.Frees != record.FreesOther ||
		next.DrainSince != w.DrainSince {
		t.Errorf("while nobody can look: %+v", next)
	}
	passing := observation(see(spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a)), failedPass))
	n := lifecycle.Next(passing).Record
	if f := situation.FactsOf("", passing.Wanted, n, nil, true); f != (situation.Facts{InProgress: true, Begun: true}) {
		t.Errorf("a node whose passes fail: %+v", f)
	}
}

// TestStay: nothing is done, and the record says why, on a node that has none, too.
func TestStay(t *testing.T) {
	for _, c := range []struct {
		row
		want v1alpha1.Status
	}{
		{when("no record", spec(pkg(a)), failedPass, noPermit), waiting},
		{when("in progress",
			spec(pkg(a)), node(apply.erroring(a)), pods(apply.failing(a)), failedPass, was(erroring), ourCordon), erroring},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			d := lifecycle.Stay(o)
			if len(d.Steps)+len(d.Start)+len(d.Delete) > 0 || d.Unschedulable != nil || d.Record.Cordoned != o.Record.Cordoned ||
				d.Erroring != (c.want == erroring) || d.Record.Status != c.want ||
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
	o := observation(see(
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).ends(-5*minute)), failedPass,
		told(passFailed, -5*minute)))
	w := lifecycle.Remove(o).Record.Wait
	if w == nil || w.Reason != v1alpha1.ReasonPassFailed || now.Sub(w.Since.Time) != 5*time.Minute {
		t.Errorf("the record tells %+v", w)
	}
}

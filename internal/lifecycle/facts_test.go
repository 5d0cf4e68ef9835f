package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestFactsOf: what budgets, batches and order go by. The wait of a row is told, with who frees it.
func TestFactsOf(t *testing.T) {
	for _, c := range []struct {
		row
		frees   record.Frees
		pkg     string
		overdue bool
		found   int64 // the generation of the spec with which the wait was found
		want    string
	}{
		{row: when("not begun", spec(pkg(a)))},
		{row: when("complete", spec(pkg(a)), node(config.complete(a))), want: "complete"},
		{
			row:  when("complete, and cordoned yet", spec(pkg(a)), node(config.complete(a)), ourCordon),
			want: "complete disturbed",
		},
		{
			row:  when("complete, and away", spec(pkg(a)), node(config.complete(a)), notReady),
			want: "complete unavailable",
		},
		{row: when("complete, and a stage failed of a package that left",
			spec(pkg(a)), node(config.complete(a), apply.erroring(b))), want: "complete"},
		{row: when("between two stages", spec(pkg(a)), node(apply.complete(a)))},
		{row: when("a stage runs", spec(pkg(a)), node(apply.inProgress(a))), want: "in-progress"},
		{row: when("a stage runs, on a cordoned node",
			spec(pkg(a).interrupt(noop)), node(apply.inProgress(a)), ourCordon), want: "in-progress disturbed"},
		{row: when("a run failed", spec(pkg(a)), node(apply.erroring(a).reason(stepFailed))), want: "failed"},
		{
			row: when("a run failed, another stage runs",
				spec(pkg(a), pkg(b)), node(apply.erroring(a).reason(stepFailed), config.inProgress(b))),
			want: "failed in-progress",
		},
		{row: when("a run failed of a version that nobody wants any more",
			spec(pkg("a@1.1")), node(apply.erroring(a).reason(stepFailed)))},
		{
			row: when("its interrupt is in flight",
				spec(pkg(a).interrupt(noop)), node(interrupt.inProgress(a).by(noop))),
			want: "in-progress disturbed",
		},
		{row: when("another's interrupt is in flight", spec(pkg(a)), flightOfAnother(reboot, "b1"))},
		{
			row:   when("nothing but another spec helps", spec(pkg(a).needs("z@1.0")), told(dependencyMissing, -5*minute)),
			frees: record.FreesAuthor, want: "needs-author",
		},
		{
			row: when("a stage has begun, and nothing but another spec helps",
				spec(pkg(a).needs("z@1.0")), node(apply.inProgress(a)), told(dependencyMissing, -5*minute)),
			frees: record.FreesAuthor, pkg: "a", want: "needs-author",
		},
		{
			row: when("its retries are exhausted",
				spec(pkg(a)), node(apply.erroring(a).reason(retriesExhausted)), told(retriesExhausted, -5*minute)),
			frees: record.FreesAuthor, pkg: "a", want: "failed",
		},
		{
			row: when("its retries are exhausted, and the spec was edited since",
				spec(pkg(a)), node(apply.erroring(a).reason(retriesExhausted).gen(generation-1)), told(retriesExhausted, -5*minute)),
			frees: record.FreesAuthor, pkg: "a", want: "failed awaits-turn",
		},
		{
			row: when("its retries are exhausted, the spec was edited since, and its pod has yet to end",
				spec(pkg(a)), node(apply.erroring(a).reason(retriesExhausted).gen(generation-1)), told("WaitingForPodToEnd", -5*minute)),
			frees: record.FreesNode, pkg: "a", want: "failed awaits-turn",
		},
		{
			row: when("its retries are exhausted, and what the spec is now is not allowed",
				spec(pkg(a)), node(apply.erroring(a).reason(retriesExhausted).gen(generation-1)), told(dependencyMissing, -5*minute)),
			frees: record.FreesAuthor, pkg: "a", want: "failed",
		},
		{
			row: when("a run failed of another content than is wanted now",
				spec(pkg(a)), node(apply.erroring(a).reason(stepFailed).hash("0"))),
			want: "failed awaits-turn",
		},
		{
			row:   when("a drain takes its time", spec(pkg(a).interrupt(noop)), ourCordon, told(evicting, -5*minute)),
			frees: record.FreesOther, want: "disturbed",
		},
		{
			row: when("a drain lasts longer than the spec allows",
				spec(pkg(a).interrupt(noop)), ourCordon, told(drainTimeout, -5*minute)),
			frees: record.FreesOther, overdue: true, found: generation, want: "failed disturbed",
		},
		{
			row: when("a drain lasted longer than the spec allowed before it was edited",
				spec(pkg(a).interrupt(noop)), ourCordon, told(drainTimeout, -5*minute)),
			frees: record.FreesOther, overdue: true, found: generation - 1, want: "disturbed",
		},
		{
			row:   when("nothing but another spec helped before it was edited", spec(pkg(a)), told(dependencyMissing, -5*minute)),
			frees: record.FreesAuthor, found: generation - 1,
		},
		{
			row: when("a run failed, and waits for its turn",
				spec(pkg(a)), node(apply.erroring(a).reason(stepFailed)), told(waitingForPermit, -5*minute)),
			frees: record.FreesOther, pkg: "a", want: "failed awaits-turn",
		},
		{row: when("a run failed, and another package waits for the drain",
			spec(pkg(a), pkg(b).interrupt(reboot)), node(apply.erroring(a).reason(stepFailed)), ourCordon,
			told(protectedPod, -5*minute)), frees: record.FreesOther, pkg: "b", want: "failed disturbed"},
		{row: when("held in the middle of a stage, and no pod is left",
			spec(pkg(a)), node(apply.inProgress(a)), told(reasonPaused, -5*minute)), frees: record.FreesAdministrator},
		{
			row: when("a stage has begun and waits for itself",
				spec(pkg(a)), node(apply.inProgress(a)), told(waitingForConfigMap, -5*minute)),
			frees: record.FreesTime, pkg: "a", want: "in-progress",
		},
		{
			row:  when("an uninstall runs", spec(pkg(a).uninstall(on, asked)), node(uninstall.inProgress(a))),
			want: "in-progress",
		},
		{row: when("an uninstall failed that is cancelled",
			spec(pkg(a).uninstall(on)), node(uninstall.erroring(a).reason(stepFailed)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			if w := o.Record.Wait; w != nil {
				w.Frees, w.Package, w.Overdue, w.Generation = c.frees, c.pkg, c.overdue, c.found
			}
			f := situation.FactsOf("", o.Wanted, o.Record, o.InFlight, o.Node.Ready)
			var words []string
			for _, fact := range []struct {
				word string
				is   bool
			}{
				{"complete", f.Complete},
				{"failed", f.FailedRun},
				{"awaits-turn", f.AwaitsTurn},
				{"in-progress", f.InProgress},
				{"needs-author", f.NeedsAuthor},
				{"disturbed", f.Disturbed},
				{"unavailable", f.Unavailable},
			} {
				if fact.is {
					words = append(words, fact.word)
				}
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

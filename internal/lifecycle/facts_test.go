package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestFactsOf: what budgets, batches and order go by. The wait of a row is told=Reason/-5m, with who frees it.
func TestFactsOf(t *testing.T) {
	for _, c := range []struct {
		name, spec, node, gate string
		frees                  record.Frees
		pkg                    string
		overdue                bool
		want                   string
	}{
		{name: "not begun", spec: "a@1.0"},
		{name: "complete", spec: "a@1.0", node: "a@1.0 config:complete", want: "complete"},
		{
			name: "complete, and cordoned yet", spec: "a@1.0", node: "a@1.0 config:complete", gate: "ours",
			want: "complete disturbed",
		},
		{
			name: "complete, and away", spec: "a@1.0", node: "a@1.0 config:complete", gate: "not-ready",
			want: "complete unavailable",
		},
		{
			name: "complete, and a stage failed of a package that left", spec: "a@1.0",
			node: "a@1.0 config:complete; b@1.0 apply:erroring", want: "complete",
		},
		{name: "between two stages", spec: "a@1.0", node: "a@1.0 apply:complete"},
		{name: "a stage runs", spec: "a@1.0", node: "a@1.0 apply:in_progress", want: "in-progress"},
		{
			name: "a stage runs, on a cordoned node", spec: "a@1.0 interrupt=noop", node: "a@1.0 apply:in_progress",
			gate: "ours", want: "in-progress disturbed",
		},
		{name: "a run failed", spec: "a@1.0", node: "a@1.0 apply:erroring reason=StepFailed", want: "failed"},
		{
			name: "a run failed, another stage runs", spec: "a@1.0; b@1.0",
			node: "a@1.0 apply:erroring reason=StepFailed; b@1.0 config:in_progress", want: "failed in-progress",
		},
		{
			name: "a run failed of a version that nobody wants any more", spec: "a@1.1",
			node: "a@1.0 apply:erroring reason=StepFailed",
		},
		{
			name: "its interrupt is in flight", spec: "a@1.0 interrupt=noop",
			node: "a@1.0 interrupt:in_progress interrupt=noop boot=b1", want: "in-progress disturbed",
		},
		{name: "another's interrupt is in flight", spec: "a@1.0", gate: "flight-of-another=reboot/b1"},
		{
			name: "nothing but another spec helps", spec: "a@1.0 needs=z@1.0", gate: "told=DependencyMissing/-5m",
			frees: record.FreesAuthor, want: "needs-author",
		},
		{
			name: "a stage has begun, and nothing but another spec helps", spec: "a@1.0 needs=z@1.0",
			node: "a@1.0 apply:in_progress",
			gate: "told=DependencyMissing/-5m", frees: record.FreesAuthor, pkg: "a", want: "needs-author",
		},
		{
			name: "its retries are exhausted", spec: "a@1.0", node: "a@1.0 apply:erroring reason=RetriesExhausted",
			gate: "told=RetriesExhausted/-5m", frees: record.FreesAuthor, pkg: "a", want: "failed",
		},
		{
			name: "a drain takes its time", spec: "a@1.0 interrupt=noop", gate: "ours told=Evicting/-5m",
			frees: record.FreesOther, want: "disturbed",
		},
		{
			name: "a drain lasts longer than the spec allows", spec: "a@1.0 interrupt=noop", gate: "ours told=DrainTimeout/-5m",
			frees: record.FreesOther, overdue: true, want: "failed disturbed",
		},
		{
			name: "a run failed, and waits for its turn", spec: "a@1.0", node: "a@1.0 apply:erroring reason=StepFailed",
			gate: "told=WaitingForPermit/-5m", frees: record.FreesOther, pkg: "a", want: "failed awaits-turn",
		},
		{
			name: "a run failed, and another package waits for the drain", spec: "a@1.0; b@1.0 interrupt=reboot",
			node: "a@1.0 apply:erroring reason=StepFailed", gate: "ours told=ProtectedPod/-5m",
			frees: record.FreesOther, pkg: "b", want: "failed disturbed",
		},
		{
			name: "held in the middle of a stage, and no pod is left", spec: "a@1.0", node: "a@1.0 apply:in_progress",
			gate: "told=Paused/-5m", frees: record.FreesAdministrator,
		},
		{
			name: "a stage has begun and waits for itself", spec: "a@1.0", node: "a@1.0 apply:in_progress",
			gate: "told=WaitingForConfigMap/-5m", frees: record.FreesTime, pkg: "a", want: "in-progress",
		},
		{name: "an uninstall runs", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", want: "in-progress"},
		{
			name: "an uninstall failed that is cancelled", spec: "a@1.0 uninstall=on",
			node: "a@1.0 uninstall:erroring reason=StepFailed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{spec: c.spec, node: c.node, gate: c.gate})
			if w := o.Record.Wait; w != nil {
				w.Frees, w.Package, w.Overdue = c.frees, c.pkg, c.overdue
			}
			f := lifecycle.FactsOf("", o.Wanted, o.Record, o.InFlight, o.Node.Ready)
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

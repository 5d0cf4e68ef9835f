package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func change(pkg string, stage v1alpha1.Stage, st v1alpha1.State, message string) lifecycle.Change {
	return lifecycle.Change{Package: pkg, Version: "1.0.0", Stage: stage, State: st, Message: message}
}

func begins(pkg string, stage v1alpha1.Stage) lifecycle.Change {
	return change(pkg, stage, v1alpha1.StateInProgress, "")
}

func ends(pkg string, stage v1alpha1.Stage) lifecycle.Change {
	return change(pkg, stage, v1alpha1.StateComplete, "")
}

// tells makes a pass, some seconds after the start, that reports changes of a Skyhook whose status is then as given. It
// returns the events that it sends, and when the next is due.
func (w *world) tells(second int, s *v1alpha1.Skyhook, status v1alpha1.Status, changes ...lifecycle.Change) (string, time.Duration) {
	w.t.Helper()
	p := w.pass(s)
	p.now = start.Add(time.Duration(second) * time.Second)
	decided(p, s, lifecycle.Decision{Record: record.Node{Status: status}, Changes: changes}).report(w.t.Context())
	after := p.tellGathered()
	return strings.Join(w.told(""), "\n"), after
}

// TestReport: the stages of a pass make one event of the node, a failure has its own, and the Skyhook gets what begins
// and what fails.
func TestReport(t *testing.T) {
	w := newWorld(t, newNode())
	got, _ := w.tells(0, newSkyhook("demo"), v1alpha1.StatusErroring,
		ends("a", v1alpha1.StageApply),
		begins("a", v1alpha1.StageConfig),
		change("b", v1alpha1.StageApply, v1alpha1.StateErroring, "exited 3"),
		begins("c", v1alpha1.StageApply),
	)
	want := "Warning Error Skyhook demo: stage apply of package [b:1.0.0] fails: exited 3\n" +
		"Normal Apply Skyhook demo: stage apply of package [a:1.0.0] is complete; stage config of package [a:1.0.0] begins; " +
		"stage apply of package [c:1.0.0] begins"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	told := func(pkg string, stage v1alpha1.Stage) state.Told {
		return state.Told{Nodes: []string{nodeName}, Transition: state.Transition{
			Type: "Normal", Reason: v1alpha1.EventApply, Stage: stage, State: v1alpha1.StateInProgress, Package: pkg, Version: "1.0.0",
		}}
	}
	failed := state.Told{
		Nodes: []string{nodeName}, Message: "stage apply of package [b:1.0.0] fails: exited 3", Transition: state.Transition{
			Type: "Warning", Reason: v1alpha1.EventError, Stage: v1alpha1.StageApply, State: v1alpha1.StateErroring, Package: "b", Version: "1.0.0",
		},
	}
	noted := []state.Told{told("a", v1alpha1.StageConfig), failed, told("c", v1alpha1.StageApply)}
	if d := cmp.Diff(noted, w.Transitions.Take("demo")); d != "" {
		t.Errorf("for the Skyhook (-want +got):\n%s", d)
	}
}

// TestUninstallIsGathered: one event of the node covers the whole uninstall; the Skyhook's event has the reason
// Uninstalled.
func TestUninstallIsGathered(t *testing.T) {
	demo, uninstall := newSkyhook("demo"), v1alpha1.StageUninstall
	gone := ends("a", uninstall)
	gone.Reason, gone.Message = v1alpha1.ReasonUninstalled, "package [a:1.0.0] is uninstalled"
	w := newWorld(t, newNode())
	if got, _ := w.tells(0, demo, v1alpha1.StatusInProgress, begins("a", uninstall)); got != "" {
		t.Errorf("at first %q", got)
	}
	got, _ := w.tells(1, demo, v1alpha1.StatusComplete, gone)
	if want := "Normal Apply Skyhook demo: stage uninstall of package [a:1.0.0] begins; package [a:1.0.0] is uninstalled"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	told := w.Transitions.Take("demo")
	if len(told) != 2 || told[0].Reason != v1alpha1.ReasonUninstalled || told[0].Message != gone.Message {
		t.Errorf("for the Skyhook: %+v", told)
	}
}

// TestStagesAreGathered: one event tells of all stages of ten seconds, in their order; none is lost, and none is late
// when nothing follows.
func TestStagesAreGathered(t *testing.T) {
	demo, apply, config := newSkyhook("demo"), v1alpha1.StageApply, v1alpha1.StageConfig
	type pass struct {
		second  int
		status  v1alpha1.Status
		changes []lifecycle.Change
		want    string
		after   time.Duration
	}
	const working, event = v1alpha1.StatusInProgress, "Normal Apply Skyhook demo: "
	first := pass{0, working, []lifecycle.Change{begins("a", apply), begins("b", apply)}, "", 10 * time.Second}
	const both = event + "stage apply of package [a:1.0.0] begins; stage apply of package [b:1.0.0] begins"
	for name, passes := range map[string][]pass{
		"for ten seconds": {
			first,
			{2, working, []lifecycle.Change{ends("a", apply), begins("a", config)}, "", 8 * time.Second},
			{9, working, nil, "", time.Second},
			{10, working, nil, both + "; stage apply of package [a:1.0.0] is complete; stage config of package [a:1.0.0] begins", 0},
			{11, working, nil, "", 0},
			{12, working, []lifecycle.Change{ends("a", config)}, "", 10 * time.Second},
			{22, working, nil, event + "stage config of package [a:1.0.0] is complete", 0},
		},
		"longer, where the look comes late": {
			first,
			{30, working, []lifecycle.Change{ends("a", apply)}, both + "; stage apply of package [a:1.0.0] is complete", 0},
		},
		"until the node is complete": {
			first,
			{1, v1alpha1.StatusComplete, []lifecycle.Change{ends("a", apply)}, both + "; stage apply of package [a:1.0.0] is complete", 0},
		},
		"until it has to wait": {first, {1, v1alpha1.StatusWaiting, nil, both, 0}},
		"until something fails": {
			first,
			{
				1, working,
				[]lifecycle.Change{change("a", apply, v1alpha1.StateErroring, "exited 3"), ends("b", apply)},
				both + "\nWarning Error Skyhook demo: stage apply of package [a:1.0.0] fails: exited 3", 10 * time.Second,
			},
			{11, working, nil, event + "stage apply of package [b:1.0.0] is complete", 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newNode())
			for _, p := range passes {
				got, after := w.tells(p.second, demo, p.status, p.changes...)
				if d := cmp.Diff(p.want, got); d != "" || after != p.after {
					t.Errorf("after %d s, again after %s, want %s (-want +got):\n%s", p.second, after, p.after, d)
				}
			}
		})
	}
}

// TestGatheredStagesOfASkyhookThatIsGone are told, and those of another wait.
func TestGatheredStagesOfASkyhookThatIsGone(t *testing.T) {
	w := newWorld(t, newNode())
	gone, demo := newSkyhook("gone"), newSkyhook("demo")
	gone.UID = "another"
	w.tells(0, gone, v1alpha1.StatusInProgress, begins("a", v1alpha1.StageApply))
	got, after := w.tells(1, demo, v1alpha1.StatusInProgress, begins("a", v1alpha1.StageApply))
	if want := "Normal Apply Skyhook gone: stage apply of package [a:1.0.0] begins"; got != want || after != gatherFor {
		t.Errorf("told %q, again after %s", got, after)
	}
}

// TestManyStagesMakeSeveralEvents: none has more text than the API server takes, and none is cut off.
func TestManyStagesMakeSeveralEvents(t *testing.T) {
	w := newWorld(t, newNode())
	var changes []lifecycle.Change
	for i := range 60 {
		changes = append(changes, begins(fmt.Sprintf("package-%d", i), v1alpha1.StageApply))
	}
	got, _ := w.tells(0, newSkyhook("demo"), v1alpha1.StatusComplete, changes...)
	for i := range changes {
		if what := fmt.Sprintf("[package-%d:1.0.0] begins", i); strings.Count(got, what) != 1 {
			t.Errorf("not told once: %s", what)
		}
	}
	for event := range strings.SplitSeq(got, "\n") {
		if len(event) > 1024 {
			t.Errorf("an event of %d bytes", len(event))
		}
	}
}

// TestTellingOfStagesWritesNothingElse: the look that a timer asks for sends the event.
func TestTellingOfStagesWritesNothingElse(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), newNode())
	result := w.reconcile()
	if told := w.told(""); len(told) > 0 || len(w.pods()) != 1 || result.RequeueAfter != gatherFor {
		t.Fatalf("told %q at once, %d pods, again after %s", told, len(w.pods()), result.RequeueAfter)
	}
	pod := w.pods()[0]
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "a-init", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	w.must(w.Client.Status().Update(t.Context(), &pod))
	writes := len(w.bodies)
	w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	w.reconcile()
	if told := w.told("stage apply of package [a:1.0.0] begins"); len(told) != 1 || len(w.bodies) != writes {
		t.Errorf("told %q with %q", told, w.bodies[writes:])
	}
}

package skyhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// pastWorld is a world with a history: nodes n1 and n2 of Skyhook demo, whose spec kubectl-edit changed last.
type pastWorld struct{ *world }

func newPast(t *testing.T) *pastWorld {
	t.Helper()
	nodes := []*corev1.Node{newNode("n1", "gpu"), newNode("n2", "gpu")}
	for _, n := range nodes {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	w := &pastWorld{newWorld(t, newSkyhook("demo"), nodes[0], nodes[1])}
	w.Durations = &state.Durations{}
	live, _ := w.Client.(client.WithWatch)
	w.Live = interceptor.NewClient(live, interceptor.Funcs{Get: func(
		ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
	) error {
		err := c.Get(ctx, key, o, opts...)
		if s, ok := o.(*v1alpha1.Skyhook); ok { // caches drop it
			when := metav1.NewTime(start)
			s.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kubectl-edit", Time: &when, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)},
			}}
		}
		return err
	}})
	return w
}

// at sets the clock, and lets the Skyhook be planned; it returns how often its history was written, and when that is
// to be looked at again.
func (w *pastWorld) at(minutes float64) (writes int, again time.Duration) {
	w.t.Helper()
	w.clock.SetTime(start.Add(time.Duration(minutes * float64(time.Minute))))
	w.took()
	result, err := w.Reconcile(w.t.Context(), request("demo"))
	w.must(err)
	again = w.memory.Of(w.skyhook("demo")).past.again
	if again > 0 && (result.RequeueAfter == 0 || result.RequeueAfter > again) {
		w.t.Errorf("the next pass is in %s, the history is looked at in %s", result.RequeueAfter, again)
	}
	return strings.Count(w.took(), "ConfigMap "+workload.HistoryName("demo")), again
}

// become makes nodes complete, failing, or as the spec found them.
func (w *pastWorld) become(status string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		var n corev1.Node
		w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &n))
		e := record.Entry{Name: "a", Version: "1.0.0", Image: "x/a", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete, Config: map[string]string{}}
		switch status {
		case "failing":
			e.State = v1alpha1.StateErroring
		case "failing since now":
			e.State, e.Since = v1alpha1.StateErroring, metav1.NewTime(w.clock.Now())
		case "behind":
			e.Version = "0.1.0"
		}
		n.Annotations = map[string]string{}
		remember(w.t, &n, "demo", record.Node{Packages: map[string]record.Entry{e.Key(): e}})
		w.must(w.Client.Update(w.t.Context(), &n))
	}
}

func (w *pastWorld) edit(generation int64) {
	w.t.Helper()
	s := w.skyhook("demo")
	s.Generation = generation
	w.must(w.Client.Update(w.t.Context(), s))
}

// dies is another process that takes over: it knows what is stored.
func (w *pastWorld) dies() {
	w.memory, w.Durations = state.Memory[memory]{}, &state.Durations{}
}

func (w *pastWorld) measured(seconds int) {
	w.Durations.Add("demo", history.Key{Package: "a", Version: "1.0.0", Stage: v1alpha1.StageApply}, time.Duration(seconds)*time.Second)
}

// says is the history in short: a rollout as generation author started-ended nodes/failures, a stage as times.
func (w *pastWorld) says() string {
	w.t.Helper()
	cm, err := w.newPass(w.skyhook("demo")).historyOf(w.t.Context())
	w.must(err)
	rollouts, err := history.ReadRollouts(cm.Data)
	w.must(err)
	stages, err := history.ReadStages(cm.Data)
	w.must(err)
	var all []string
	for _, r := range rollouts {
		line := fmt.Sprintf("%d %s %g-", r.Generation, r.Author, r.Started.Sub(start).Minutes())
		if !r.Ended.IsZero() {
			line += fmt.Sprintf("%g", r.Ended.Sub(start).Minutes())
		}
		if r.SupersededBy > 0 {
			line += fmt.Sprintf(" by %d", r.SupersededBy)
		}
		all = append(all, fmt.Sprintf("%s %d/%d", line, r.Nodes, r.Failures))
	}
	for _, s := range stages {
		all = append(all, fmt.Sprintf("%s %v", s.Stage, s.Recent))
	}
	return strings.Join(all, "; ")
}

// expect plans the Skyhook, and compares.
func (w *pastWorld) expect(minutes float64, writes int, again time.Duration, says string) {
	w.t.Helper()
	if n, later := w.at(minutes); n != writes || later != again {
		w.t.Errorf("minute %g: %d writes, again in %s; want %d, %s", minutes, n, later, writes, again)
	}
	if got := w.says(); got != says {
		w.t.Errorf("minute %g: it says %q, want %q", minutes, got, says)
	}
}

// TestHistoryOfARollback: a failure belongs to the rollout whose content failed, also if the next one comes before it is
// written, or another process sees that.
func TestHistoryOfARollback(t *testing.T) {
	for _, dies := range []bool{false, true} {
		w := newPast(t)
		w.become("behind", "n1", "n2")
		w.at(0)
		w.clock.SetTime(start.Add(time.Minute))
		w.become("failing since now", "n1")
		w.at(2)
		if dies {
			w.dies()
		}
		w.edit(2)
		w.at(3)
		if got, want := w.says(), "2 kubectl-edit 3- 2/0; 1 kubectl-edit 0-3 by 2 2/1"; got != want {
			t.Errorf("another process %t: it says %q, want %q", dies, got, want)
		}
		w.clock.SetTime(start.Add(4 * time.Minute))
		w.become("failing since now", "n2")
		w.at(20)
		w.at(40)
		if got, want := w.says(), "2 kubectl-edit 3- 2/1; 1 kubectl-edit 0-3 by 2 2/1"; got != want {
			t.Errorf("another process %t: it says %q, want %q", dies, got, want)
		}
	}
}

func TestHistoryOfARollout(t *testing.T) {
	w := newPast(t)
	w.expect(0, 1, 0, "1 kubectl-edit 0- 2/0")
	w.expect(1, 0, 0, "1 kubectl-edit 0- 2/0")
	w.measured(30)
	w.expect(2, 0, historyEvery, "1 kubectl-edit 0- 2/0")
	w.measured(40)
	w.become("failing", "n2")
	w.expect(5, 0, 7*time.Minute, "1 kubectl-edit 0- 2/0")
	w.expect(12, 1, 0, "1 kubectl-edit 0- 2/1; apply [30 40]")
	w.measured(50)
	w.become("complete", "n1", "n2")
	w.expect(13, 1, 0, "1 kubectl-edit 0-13 2/1; apply [30 40 50]")
	w.measured(60) // the last one is told late
	w.expect(14, 0, historyEvery, "1 kubectl-edit 0-13 2/1; apply [30 40 50]")
	w.become("behind", "n2") // one that comes later is no rollout
	w.expect(24, 1, 0, "1 kubectl-edit 0-13 2/1; apply [30 40 50 60]")
	w.expect(25, 0, 0, "1 kubectl-edit 0-13 2/1; apply [30 40 50 60]")
}

func TestHistoryOfASupersededRollout(t *testing.T) {
	w := newPast(t)
	w.expect(0, 1, 0, "1 kubectl-edit 0- 2/0")
	w.become("failing", "n1")
	w.expect(1, 0, historyEvery, "1 kubectl-edit 0- 2/0")
	w.become("complete", "n1")
	w.edit(2)
	w.expect(2, 1, 0, "2 kubectl-edit 2- 1/0; 1 kubectl-edit 0-2 by 2 2/1")
	w.become("complete", "n2")
	w.expect(3, 1, 0, "2 kubectl-edit 2-3 1/0; 1 kubectl-edit 0-2 by 2 2/1")
	w.edit(3) // nothing is to be done for it
	w.expect(4, 0, historyEvery, "2 kubectl-edit 2-3 1/0; 1 kubectl-edit 0-2 by 2 2/1")
	w.expect(14, 1, 0, "2 kubectl-edit 2-3 1/0; 1 kubectl-edit 0-2 by 2 2/1")
	w.become("behind", "n1") // nor is what comes later
	w.expect(15, 0, 0, "2 kubectl-edit 2-3 1/0; 1 kubectl-edit 0-2 by 2 2/1")
}

// TestHistoryAfterACrash: whatever was written, the process that takes over comes to the same.
func TestHistoryAfterACrash(t *testing.T) {
	w := newPast(t)
	refused := errors.New("the connection broke")
	w.refuse = func(request string, _ client.Object) error {
		if strings.Contains(request, "history") {
			return refused
		}
		return nil
	}
	w.expect(0, 1, historyRetry, "")
	w.refuse = nil
	w.dies() // after the status, before the history
	w.expect(1, 1, 0, "1 kubectl-edit 1- 2/0")
	w.dies() // after the history
	w.become("failing", "n1")
	w.measured(30)
	w.expect(2, 0, historyEvery, "1 kubectl-edit 1- 2/0")
	w.dies() // what was not written is lost
	w.become("complete", "n1", "n2")
	w.refuse = func(request string, _ client.Object) error {
		if strings.Contains(request, "history") {
			return refused
		}
		return nil
	}
	w.expect(3, 1, historyRetry, "1 kubectl-edit 1- 2/0")
	w.refuse = nil
	w.dies()
	w.expect(8, 1, 0, "1 kubectl-edit 1-3 2/0") // as the condition Ready tells
	w.expect(9, 0, 0, "1 kubectl-edit 1-3 2/0")
}

// TestHistoryThatIsRefused holds nothing up, is told once, and asked for once a minute.
func TestHistoryThatIsRefused(t *testing.T) {
	w := newPast(t)
	w.refuse = func(request string, _ client.Object) error {
		if strings.Contains(request, "history") {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "x", errors.New("quota"))
		}
		return nil
	}
	w.expect(0, 1, time.Minute, "")
	if status := w.skyhook("demo").Status; len(status.Permits) != 2 {
		t.Errorf("permits %v", status.Permits)
	}
	if told := w.told(); strings.Count(told, "HistoryLost") != 1 || !strings.Contains(told, "quota") {
		t.Errorf("told %q", told)
	}
	w.measured(30)
	w.expect(0.5, 0, 30*time.Second, "")
	w.expect(1, 1, time.Minute, "")
	if told := w.told(); strings.Contains(told, "HistoryLost") {
		t.Errorf("told again %q", told)
	}
	w.refuse = nil
	w.expect(2, 1, 0, "1 kubectl-edit 2- 2/0") // it may have been written: no run is counted twice
}

// TestHistoryOfACacheThatIsBehind: nothing is lost or counted twice.
func TestHistoryOfACacheThatIsBehind(t *testing.T) {
	w := newPast(t)
	w.measured(30)
	w.refuse = func(request string, _ client.Object) error {
		if strings.Contains(request, "history") {
			return apierrors.NewAlreadyExists(corev1.Resource("configmaps"), "x")
		}
		return nil
	}
	w.expect(0, 1, passInterval, "")
	w.refuse = nil
	w.expect(0.1, 1, 0, "1 kubectl-edit 0.1- 2/0; apply [30]")
	if told := w.told(); strings.Contains(told, "HistoryLost") {
		t.Errorf("told %q", told)
	}
}

// TestHistoryThatAPersonEdited: what can be read stays, the rest begins anew, and is told.
func TestHistoryThatAPersonEdited(t *testing.T) {
	w := newPast(t)
	w.measured(30)
	w.expect(0, 1, 0, "1 kubectl-edit 0- 2/0; apply [30]")
	spoil := func(key, value string) {
		t.Helper()
		cm, err := w.newPass(w.skyhook("demo")).historyOf(t.Context())
		w.must(err)
		cm.Data[key] = value
		w.must(w.Client.Update(t.Context(), cm))
	}
	spoil("rollouts", "{")
	w.told()
	w.expect(1, 1, 0, "1 kubectl-edit 1- 2/0; apply [30]")
	if told := w.told(); strings.Count(told, "HistoryLost") != 1 || !strings.Contains(told, "rollouts cannot be read") {
		t.Errorf("told %q", told)
	}
	spoil("stages", "[]")
	w.expect(2, 0, 0, "1 kubectl-edit 1- 2/0")
	spoil("stages", "[{}]")
	w.become("complete", "n1", "n2")
	if n, _ := w.at(3); n != 1 || w.says() != "1 kubectl-edit 1-3 2/0" {
		t.Errorf("%d writes, it says %q", n, w.says())
	}
	if told := w.told(); strings.Count(told, "HistoryLost") != 1 || !strings.Contains(told, "stages cannot be read") {
		t.Errorf("told %q", told)
	}
	spoil("rollouts", "nonsense") // also of a Skyhook that has nothing to do
	w.expect(4, 1, 0, "")
	w.expect(5, 0, 0, "")
}

// TestHistoryOfASkyhookThatIsMadeAgain: what the one before left goes soon, which is no matter for people; meanwhile
// nothing is lost.
func TestHistoryOfASkyhookThatIsMadeAgain(t *testing.T) {
	w := newPast(t)
	before := newSkyhook("demo")
	before.UID = "before"
	left := options.History(before, history.Data(history.Rollouts{{Generation: 7, Started: metav1.NewTime(start)}}, nil))
	w.must(w.Client.Create(t.Context(), left))
	w.measured(30)
	if n, again := w.at(0); n != 0 || again != historyRetry {
		t.Errorf("%d writes, again in %s", n, again)
	}
	if told := w.told(); strings.Contains(told, "HistoryLost") {
		t.Errorf("told %q", told)
	}
	w.must(w.Client.Delete(t.Context(), left)) // and whatever happens wakes the Skyhook
	w.expect(0.1, 1, 0, "1 kubectl-edit 0.1- 2/0; apply [30]")
}

// TestHistoryWhoseNameIsTaken is not written over what is somebody else's.
func TestHistoryWhoseNameIsTaken(t *testing.T) {
	w := newPast(t)
	theirs := options.History(newSkyhook("demo"), map[string]string{"k": "v"})
	theirs.OwnerReferences = nil
	w.must(w.Client.Create(t.Context(), theirs))
	if n, again := w.at(0); n != 0 || again != historyRetry {
		t.Errorf("%d writes, again in %s", n, again)
	}
	if told := w.told(); !strings.Contains(told, "does not belong to Skyhook demo; delete it with `kubectl delete configmap") {
		t.Errorf("told %q", told)
	}
	w.must(w.Client.Delete(t.Context(), theirs))
	w.expect(1, 1, 0, "1 kubectl-edit 1- 2/0")
}

// TestHistoryOfADeletedSkyhook is not written any more, and sets no timer.
func TestHistoryOfADeletedSkyhook(t *testing.T) {
	w := newPast(t)
	w.expect(0, 1, 0, "1 kubectl-edit 0- 2/0")
	w.become("failing", "n1")
	w.expect(1, 0, historyEvery, "1 kubectl-edit 0- 2/0")
	w.must(w.Client.Create(t.Context(), podOf(t, w.skyhook("demo"), "a", "n1"))) // it is not gone soon
	w.must(w.Client.Delete(t.Context(), w.skyhook("demo")))
	w.measured(30)
	w.expect(20, 0, 0, "1 kubectl-edit 0- 2/0")
}

// TestHistoryWakesNobody, whoever changes it.
func TestHistoryWakesNobody(t *testing.T) {
	w := newPast(t)
	cm := options.History(newSkyhook("demo"), nil)
	for i, source := range w.Sources() {
		if _, ok := source.Object.(*corev1.ConfigMap); !ok {
			continue
		}
		if woken := wakes(t, source, nil, cm) + wakes(t, source, cm, cm) + wakes(t, source, cm, nil); woken != "" {
			t.Errorf("source %d wakes %s", i, woken)
		}
	}
}

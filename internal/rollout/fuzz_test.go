package rollout_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// reader hands out the fuzzer's bytes; zeros when there are none left.
type reader struct{ data []byte }

func (r *reader) below(n int) int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b) % n
}

func (r *reader) is() bool { return r.below(2) == 1 }

var fuzzPolicies = []string{
	"default: {budget: {count: 2}, strategy: {fixed: {initialBatch: 3, failureThreshold: 1}}}",
	`default: {budget: {percent: 30}, strategy: {linear: {delta: 2, failureThreshold: 2}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}}]`,
	`default: {budget: {percent: 100}, strategy: {exponential: {growthFactor: 3, safetyLimit: 80}}}
compartments:
- {name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {percent: 1}, strategy: {fixed: {}}}
- {name: any, selector: {matchExpressions: [{key: tier, operator: Exists}]}, budget: {count: 7}, strategy: {linear: {}}}`,
}

// input reads what a pass sees: any node may be in any state, also in such as never come together.
func (r *reader) input(t failer) rollout.Input {
	s := skyhook(r.below(4))
	s.Spec.DeploymentPolicy = "paced"
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: fmt.Sprint(r.below(2))}}
	s.Status.PackageList, s.Status.ObservedGeneration = "p:0", int64(generation-r.below(2))
	s.Status.NextOrder, s.Status.FirstRound, s.Status.NextRound = int32(r.below(9)), int32(r.below(3)), int32(r.below(4))
	in := rollout.Input{Skyhook: s, Now: now, Departed: map[string]rollout.Departed{}, Deleting: r.below(8) == 1, PolicyMissing: r.below(8) == 1}
	if k := r.below(len(fuzzPolicies) + 1); k > 0 && !in.PolicyMissing {
		in.Policy = policy(t, fuzzPolicies[k-1])
	}
	if r.below(8) == 1 {
		in.Hold = &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused}}
	}
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{}
	for _, name := range []string{rollout.DefaultCompartment, "gpu"} {
		s.Status.CompartmentStatuses[name] = v1alpha1.CompartmentStatus{BatchState: &v1alpha1.BatchState{
			CurrentBatch: r.below(4), ConsecutiveFailures: r.below(4), CompletedNodes: r.below(6), FailedNodes: r.below(6),
			ShouldStop: r.is(), LastBatchSize: r.below(6), LastBatchFailed: r.is(), BatchSize: r.below(6),
		}}
	}
	for i := range r.below(24) {
		r.node(&in, i)
	}
	return in
}

func (r *reader) node(in *rollout.Input, i int) {
	n := rollout.Node{
		Name: fmt.Sprintf("n%d", i), Created: now.Add(-time.Duration(r.below(3)) * time.Hour), BootID: "b",
		Situation: situation.Situation{Facts: situation.Facts{
			Complete: r.below(3) == 1, Unavailable: r.below(4) == 1, Disturbed: r.below(3) == 1,
			FailedRun: r.below(4) == 1, InProgress: r.below(4) == 1, NeedsAuthor: r.below(6) == 1,
		}},
		FinishedPermit: []string{"", "4/0", "4/1/1", "3/2", "x"}[r.below(5)],
		Labels:         []map[string]string{nil, {"tier": "gpu"}, {"tier": "cpu"}}[r.below(3)],
	}
	if r.below(4) == 1 {
		n.Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: v1alpha1.ReasonTaintNotTolerable}}
	}
	if r.below(3) == 1 {
		n.Wait = &record.Wait{
			Reason: v1alpha1.ReasonWaitingForPermit, Overdue: r.below(4) == 1,
			Frees: []record.Frees{"", record.FreesOther, record.FreesAdministrator, record.FreesAuthor, record.FreesNode, record.FreesTime}[r.below(6)],
		}
	}
	n.Facts.Begun = !n.Facts.Complete && (r.is() || n.Facts.Disturbed || n.Facts.InProgress || n.Facts.FailedRun)
	n.Facts.Failed = n.Facts.FailedRun && r.is()
	n.Facts.AwaitsTurn = n.Facts.FailedRun && n.Wait != nil && !n.Wait.Overdue && (n.Wait.Frees == record.FreesOther || n.Wait.Frees == record.FreesAdministrator)
	if r.below(4) == 1 {
		n.Uninstalling, n.UninstallFailure = true, &record.Wait{Reason: "StepFailed", Message: n.Name, Since: metav1.NewTime(now.Add(time.Duration(r.below(2)) * time.Second))}
	}
	status := &in.Skyhook.Status
	if r.is() {
		p := v1alpha1.Permit{Node: n.Name, Order: status.NextOrder, Generation: int64(generation - r.below(2)), Revoked: r.is()}
		status.NextOrder++
		status.Permits = append(status.Permits, p)
		if r.below(4) == 1 {
			n.FinishedPermit = p.Token()
		}
	}
	switch r.below(8) {
	case 1:
		in.Departed[n.Name] = rollout.Departed{FinishedPermit: n.FinishedPermit, Unavailable: n.Facts.Unavailable}
	case 2: // the node is gone
	default:
		in.Nodes = append(in.Nodes, n)
	}
}

// FuzzPlan checks, for any input, what holds of every plan.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"", "\x01\x01\x00\x02\x01\x01", "rollout", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		f.Add([]byte(seed))
		f.Add([]byte(seed + seed + seed + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAnyPlan(t, data) })
}

// TestAnyPlan does the same with inputs that are seldom empty.
func TestAnyPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkAnyPlan(t, rapid.SliceOfN(rapid.Byte(), 60, 400).Draw(t, "input"))
	})
}

// reporter is what *testing.T and *rapid.T have in common here.
type reporter interface {
	failer
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func checkAnyPlan(t reporter, data []byte) {
	in := (&reader{data}).input(t)
	before, err := json.Marshal(in.Skyhook)
	if err != nil {
		t.Fatal(err)
	}
	after := rollout.Plan(in)
	checkAnyOrder(t, in, after)
	checkTransitions(t, in.Skyhook.Status, after)
	if unchanged, err := json.Marshal(in.Skyhook); err != nil || !bytes.Equal(unchanged, before) {
		t.Fatal("Plan changed its input")
	}
	checkPlan(t, in, after)
	// With nothing new to see, plans come to an end.
	for range 3*len(in.Nodes) + 3 {
		in.Skyhook.Status, in.Now = after, in.Now.Add(time.Second)
		after = rollout.Plan(in)
		checkTransitions(t, in.Skyhook.Status, after)
		checkPlan(t, in, after)
	}
	in.Skyhook.Status, in.Now = after, in.Now.Add(time.Hour)
	if diff := cmp.Diff(after, rollout.Plan(in)); diff != "" {
		t.Errorf("the plan never settles:\n%s", diff)
	}
}

// checkAnyOrder: whatever the order in which a cache lists the nodes, the status is the same.
func checkAnyOrder(t reporter, in rollout.Input, want v1alpha1.SkyhookStatus) {
	t.Helper()
	in.Nodes = slices.Clone(in.Nodes)
	for seed := range uint64(2) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(in.Nodes), func(i, k int) { in.Nodes[i], in.Nodes[k] = in.Nodes[k], in.Nodes[i] })
		if diff := cmp.Diff(want, rollout.Plan(in)); diff != "" {
			t.Errorf("another order of nodes, another status:\n%s", diff)
		}
	}
}

// checkTransitions: the time of a condition moves when its status changes, and only then.
func checkTransitions(t reporter, before, after v1alpha1.SkyhookStatus) {
	t.Helper()
	for _, c := range after.Conditions {
		was := meta.FindStatusCondition(before.Conditions, c.Type)
		if was != nil && (was.Status == c.Status) != was.LastTransitionTime.Equal(&c.LastTransitionTime) {
			t.Errorf("%s went from %s to %s, its time from %s to %s", c.Type, was.Status, c.Status, was.LastTransitionTime, c.LastTransitionTime)
		}
	}
}

func checkPlan(t reporter, in rollout.Input, after v1alpha1.SkyhookStatus) {
	t.Helper()
	orders, ready := map[int32]string{}, map[string]bool{}
	for _, n := range in.Nodes {
		ready[n.Name] = !n.Facts.Complete && n.Hold == nil && !n.Facts.Unavailable
	}
	for i, p := range after.Permits {
		if other, twice := orders[p.Order]; twice {
			t.Errorf("%s and %s both have order %d", other, p.Node, p.Order)
		}
		if i > 0 && after.Permits[i-1].Order > p.Order {
			t.Errorf("permits are not sorted: %s", text(after.Permits))
		}
		orders[p.Order] = p.Node
		if p.Order < 0 || p.Order >= after.NextOrder || p.Round < 0 {
			t.Errorf("permit %+v with next order %d", p, after.NextOrder)
		}
		if permitOf(in.Skyhook.Status, p.Node) == nil && !ready[p.Node] {
			t.Errorf("%s got a permit", p.Node)
		}
	}
	waiting := 0
	for _, w := range after.Waiting {
		waiting += w.Nodes
		if w.Reason == v1alpha1.ReasonUnknown || w.Reason == v1alpha1.ReasonWaitingForPermit && w.Message == "" {
			t.Errorf("%d nodes wait for %s: %s", w.Nodes, w.Reason, w.Message)
		}
	}
	if rest := after.Nodes.Blocked + after.Nodes.Waiting; in.Hold == nil && waiting != rest {
		t.Errorf("%d nodes wait, and reasons are told of %d", rest, waiting)
	}
	checkPlainBudget(t, in, after)
	if len(in.Nodes) > 0 && (after.Status == v1alpha1.StatusUnknown || after.Status == "") {
		t.Errorf("status %q", after.Status)
	}
	n := after.Nodes
	if sum := n.Complete + n.InProgress + n.Erroring + n.Blocked + n.Waiting + n.Paused + n.Disabled + n.Unknown; sum != len(in.Nodes) || n.Total != sum {
		t.Errorf("%d nodes are counted as %+v", len(in.Nodes), n)
	}
}

// checkPlainBudget: without a policy, no node gets a permit beyond the budget. Nodes on which work has begun count, with or
// without one.
func checkPlainBudget(t reporter, in rollout.Input, after v1alpha1.SkyhookStatus) {
	t.Helper()
	if in.Policy != nil || in.PolicyMissing {
		return
	}
	atWork, fresh := map[string]bool{}, 0
	for _, p := range after.Permits {
		atWork[p.Node] = true
	}
	for _, n := range in.Nodes {
		begun := n.Facts.Begun && (n.Hold == nil || !n.Hold.TakesOut)
		switch busy := n.Facts.Disturbed || !n.Facts.Complete && (n.Facts.InProgress || begun); {
		case busy:
			atWork[n.Name] = true
		case atWork[n.Name] && permitOf(in.Skyhook.Status, n.Name) == nil:
			fresh++
		}
	}
	if limit := rollout.Limit(in.Skyhook.Spec.InterruptionBudget, len(in.Nodes)); fresh > 0 && len(atWork) > limit {
		t.Errorf("%d new permits although %d nodes are in progress with a budget of %d: %s", fresh, len(atWork), limit, text(after.Permits))
	}
}

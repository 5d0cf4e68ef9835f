package rollout_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// withState gives a Skyhook what the pass before left: the state of the default compartment's batches.
func withState(t testing.TB, s *v1alpha1.Skyhook, state string) *v1alpha1.Skyhook {
	t.Helper()
	s.Spec.DeploymentPolicy = "paced"
	s.Status.ObservedGeneration = s.Generation
	if state == "" {
		return s
	}
	var b v1alpha1.BatchState
	if err := yaml.UnmarshalStrict([]byte(state), &b); err != nil {
		t.Fatal(err)
	}
	b.Content = rollout.ContentOf(s)
	for _, p := range s.Status.Permits { // of the running batch, unless they are of one that is over
		over := func(o v1alpha1.ClosedBatch) bool { return slices.Contains(o.Holding, p.Order) }
		if len(b.Members) < b.BatchSize && !slices.ContainsFunc(b.Closed, over) {
			b.Members = append(b.Members, p.Order)
		}
	}
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{rollout.DefaultCompartment: {BatchState: &b}}
	return s
}

// stateText writes the state of the default compartment's batches as YAML in one line, without what they are of.
func stateText(t testing.TB, status v1alpha1.SkyhookStatus) string {
	t.Helper()
	b := status.CompartmentStatuses[rollout.DefaultCompartment].BatchState.DeepCopy()
	if b != nil {
		b.Content, b.Generation, b.Granted = "", 0, nil
	}
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(string(raw))
}

const byTwos = "default: {budget: {count: 3}, strategy: {fixed: {initialBatch: 2, failureThreshold: 2}}}"

const byOnes = "default: {budget: {count: 3}, strategy: {fixed: {initialBatch: 1}}}"

// TestBatch has one line per situation of a compartment: nodes, permits and state before give permits and state after.
func TestBatch(t *testing.T) {
	one := []v1alpha1.Permit{permit("n1", 0)}
	two := []v1alpha1.Permit{permit("n1", 0), permit("n2", 1)}
	for _, c := range []struct {
		name    string
		policy  string
		permits []v1alpha1.Permit
		state   string
		nodes   string
		want    string
		after   string
	}{
		{name: "the first batch", nodes: "n1; n2; n3; n4", want: "n1:0 n2:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}"},
		{
			name: "what was complete before the first batch is not its doing", nodes: "n1 complete; n2 erroring done=4/0; n3; n4; n5",
			want: "n3:0 n4:1", after: "{currentBatch: 1, completedNodes: 1, failedNodes: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "a batch is sticky", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 complete done=4/0; n2 in_progress; n3; n4", want: "n2:1", after: "{currentBatch: 1, completedNodes: 1, batchSize: 2, members: 1, succeeded: 1}",
		},
		{
			name: "also while its nodes have not begun", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1; n2; n3; n4", want: "n1:0 n2:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "it is over when all are complete", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 complete done=4/0; n2 complete done=4/1; n3; n4; n5", want: "n3:2 n4:3",
			after: "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 2, members: 2, 3}",
		},
		{
			name: "complete, but the permits are not back: the ceiling counts them", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 complete; n2 complete; n3; n4; n5", want: "n1:0 n2:1 n3:2",
			after: "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 1, members: 2}",
		},
		{
			name: "when they are back the batch gets the nodes that it was short of", permits: append(two[:2:2], permit("n3", 2)),
			state: "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 1, closed: ['2/0:0,1']}",
			nodes: "n1 complete done=4/0; n2 complete done=4/1; n3 in_progress; n4; n5", want: "n3:2 n4:3",
			after: "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 2, members: 2, 3}",
		},
		{
			name: "but no more than its size", permits: []v1alpha1.Permit{permit("n3", 2), permit("n4", 3)},
			state: "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 2}",
			nodes: "n1 complete; n2 complete; n3 in_progress; n4 complete done=4/3; n5; n6", want: "n3:2",
			after: "{currentBatch: 2, completedNodes: 3, lastBatchSize: 2, batchSize: 2, members: 2, succeeded: 1}",
		},
		{
			name: "the budget caps the strategy", policy: "default: {budget: {count: 2}, strategy: {exponential: {initialBatch: 8}}}",
			nodes: "n1; n2; n3; n4", want: "n1:0 n2:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "a percentage of the compartment", policy: "default: {budget: {percent: 50}, strategy: {exponential: {initialBatch: 8}}}",
			nodes: "n1; n2; n3; n4; n5", want: "n1:0 n2:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "a node that failed ends its place and gives its permit back", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 erroring; n2 in_progress; n3", want: "n1:0! n2:1", after: "{currentBatch: 1, failedNodes: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "a bad batch", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 erroring done=4/0; n2 complete done=4/1; n3; n4; n5", want: "n3:2 n4:3",
			after: "{currentBatch: 2, consecutiveFailures: 1, completedNodes: 1, failedNodes: 1, lastBatchSize: 2, lastBatchFailed: true, batchSize: 2, members: 2, 3, closed: [2/1], lost: [n1]}",
		},
		{
			name: "a permit that is asked back still counts", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 erroring; n2 erroring; n3; n4; n5", want: "n1:0! n2:1! n3:2",
			after: "{currentBatch: 2, consecutiveFailures: 1, failedNodes: 2, lastBatchSize: 2, lastBatchFailed: true, batchSize: 1, members: 2, closed: [2/0: 0, 1]}",
		},
		{
			name: "a failing node that we hold cordoned keeps its permit, and counts", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 erroring cordoned; n2 complete done=4/1; n3; n4; n5", want: "n1:0 n3:2 n4:3",
			after: "{currentBatch: 2, consecutiveFailures: 1, completedNodes: 1, failedNodes: 1, lastBatchSize: 2, lastBatchFailed: true, batchSize: 2, members: 2, 3, closed: [2/0: 0]}",
		},
		{
			name: "cordoned nodes without a permit count too, and go first", nodes: "n1 age=9; n2 cordoned; n3 cordoned; n4",
			want: "n2:0 n3:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "cordoned nodes without a permit take places, also when they are excluded", nodes: "n1; n2 cordoned held=NodeIgnored; n3 cordoned held=NodeIgnored; n4",
			want: "n1:0", after: "{currentBatch: 1, batchSize: 1, members: 0}",
		},
		{
			name: "however many they are", policy: "default: {budget: {count: 2}, strategy: {fixed: {initialBatch: 2}}}",
			nodes: "n1 cordoned; n2 cordoned; n3 cordoned; n4", want: "n1:0 n2:1", after: "{currentBatch: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "one that recovers before it gave its permit back continues, and has not healed yet", permits: []v1alpha1.Permit{{Node: "n1", Generation: generation, Revoked: true}},
			state: "{currentBatch: 2, failedNodes: 1, lastBatchSize: 1, consecutiveFailures: 1, lastBatchFailed: true, closed: ['1/0:0']}", nodes: "n1 in_progress; n2",
			want: "n1:0 n2:1", after: "{currentBatch: 2, consecutiveFailures: 1, lastBatchSize: 1, lastBatchFailed: true, batchSize: 1, members: 1, closed: [1/0: 0]}",
		},
		{
			name: "one that has not looked at its permit yet is not failing with it", permits: one, state: "{currentBatch: 2, failedNodes: 1, batchSize: 1}",
			nodes: "n1 erroring wait=WaitingForPermit", want: "n1:0", after: "{currentBatch: 2, batchSize: 1, members: 0}",
		},
		{
			name: "one that takes longer than it may has failed, whoever could help", permits: one, state: "{currentBatch: 2, batchSize: 1}",
			nodes: "n1 overdue=EvictionRefused cordoned; n2; n3; n4", want: "n1:0 n2:1 n3:2",
			after: "{currentBatch: 3, consecutiveFailures: 1, failedNodes: 1, lastBatchSize: 1, lastBatchFailed: true, batchSize: 2, members: 1, 2, closed: [1/0: 0]}",
		},
		{
			name: "when it fails again that is a bad batch", permits: one, state: "{currentBatch: 2, batchSize: 1}",
			nodes: "n1 erroring; n2; n3; n4", want: "n1:0! n2:1 n3:2",
			after: "{currentBatch: 3, consecutiveFailures: 1, failedNodes: 1, lastBatchSize: 1, lastBatchFailed: true, batchSize: 2, members: 1, 2, closed: [1/0: 0]}",
		},
		{
			name: "a node that is away without our doing does not block the others", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 not-ready; n2 complete done=4/1; n3; n4", want: "n1:0! n3:2 n4:3",
			after: "{currentBatch: 2, completedNodes: 1, lastBatchSize: 1, batchSize: 2, members: 2, 3}",
		},
		{
			name: "a node that reboots for its interrupt is in progress", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 not-ready reboots; n2 complete done=4/1; n3; n4", want: "n1:0", after: "{currentBatch: 1, completedNodes: 1, batchSize: 2, members: 0, succeeded: 1}",
		},
		{
			name: "one whose attempt failed is tried again, and is no verdict", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 retrying; n2 complete done=4/1; n3; n4", want: "n1:0", after: "{currentBatch: 1, completedNodes: 1, batchSize: 2, members: 0, succeeded: 1}",
		},
		{
			name: "a node that dies in the middle of work is bad, and holds its place", permits: one, state: "{currentBatch: 1, batchSize: 1}",
			nodes: "n1 begun not-ready; n2; n3; n4; n5", want: "n1:0 n2:1 n3:2",
			after: "{currentBatch: 2, consecutiveFailures: 1, failedNodes: 1, lastBatchSize: 1, lastBatchFailed: true, batchSize: 2, members: 1, 2, closed: [1/0: 0]}",
		},
		{
			name: "a kubelet that restarts in the middle of work is waited for", policy: byOnes, permits: one, state: "{currentBatch: 1, batchSize: 1}",
			nodes: "n1 begun restarts; n2", want: "n1:0", after: "{currentBatch: 1, batchSize: 1, members: 0}",
		},
		{
			name: "a taint in the middle of work is waited for", policy: byOnes, permits: one, state: "{currentBatch: 1, batchSize: 1}",
			nodes: "n1 begun tainted=4m; n2", want: "n1:0", after: "{currentBatch: 1, batchSize: 1, members: 0}",
		},
		{
			name: "one that stays is bad, and the node holds its place", permits: one, state: "{currentBatch: 1, batchSize: 1}",
			nodes: "n1 begun tainted=6m; n2; n3; n4", want: "n1:0 n2:1 n3:2",
			after: "{currentBatch: 2, consecutiveFailures: 1, failedNodes: 1, lastBatchSize: 1, lastBatchFailed: true, batchSize: 2, members: 1, 2, closed: [1/0: 0]}",
		},
		{
			name: "a stop stays while what stopped it is tried again", permits: one,
			state: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, '1/0:0']}",
			nodes: "n1 in_progress; n2; n3", want: "n1:0",
			after: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, 1/0: 0]}",
		},
		{
			name: "and ends when that is complete", permits: one,
			state: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, '1/0:0']}",
			nodes: "n1 complete done=4/0; n2; n3", want: "n2:1 n3:2",
			after: "{currentBatch: 3, completedNodes: 1, batchSize: 2, members: 1, 2}",
		},
		{
			name: "but not when a person takes it out: the next node would fare as it did", permits: one,
			state: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, '1/0:0']}",
			nodes: "n1 begun held=NodeIgnored; n2; n3", want: "n1:0",
			after: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, 1/1], lost: [n1]}",
		},
		{
			name: "a new node under the name of one that stopped it does not start with its permit", permits: one,
			state: "{currentBatch: 2, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: ['2/1:0'], before: 1}",
			nodes: "n1; n2; n3", want: "n1:0!",
			after: "{currentBatch: 2, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [2/2], lost: [n1], before: 1}",
		},
		{
			name: "and stands when it is gone", state: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, '1/0:0']}",
			nodes: "n2; n3", want: "",
			after: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, lastBatchFailed: true, closed: [1/1, 1/1]}",
		},
		{
			name: "a node that is excluded ends its place", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 held=NodeIgnored done=4/0; n2 held=WaitingForSkyhook done=4/1; n3; n4; n5", want: "n3:2 n4:3",
			after: "{currentBatch: 1, batchSize: 2, members: 2, 3}",
		},
		{
			name: "a node that is gone in the middle of work is bad", permits: two, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n2 complete done=4/1; n3; n4; n5", want: "n3:2 n4:3",
			after: "{currentBatch: 2, consecutiveFailures: 1, completedNodes: 1, lastBatchSize: 2, lastBatchFailed: true, batchSize: 2, members: 2, 3, closed: [2/1], lost: [n1]}",
		},
		{
			name: "held and not Ready nodes are never candidates", nodes: "n1 held=NodeIgnored; n2 held=TaintNotTolerable; n3 held=WaitingForSkyhook; n4 not-ready; n5",
			want: "n5:0", after: "{currentBatch: 1, batchSize: 1, members: 0}",
		},
		{
			name: "nodes that have begun go first, then the oldest, then by name", policy: "default: {budget: {count: 9}, strategy: {fixed: {initialBatch: 4}}}",
			nodes: "n1; n2; n3 age=7; n4 begun; n5; n6 age=8 begun", want: "n6:0 n4:1 n3:2 n1:3", after: "{currentBatch: 1, batchSize: 4, members: 0, 1, 2, 3}",
		},
		{
			name:  "nodes that fail go last, if a permit lets them start something",
			nodes: "n1 erroring wait=WaitingForPermit done=4/0; n2 erroring done=4/1; n3; n4 held=NodeIgnored",
			want:  "n3:0 n1:1", after: "{currentBatch: 1, failedNodes: 1, batchSize: 2, members: 0, 1}",
		},
		{
			name: "or if the spec changed since", nodes: "n1 erroring done=3/0; n2 erroring done=4/1; n3 erroring; n4 held=NodeIgnored; n5 held=NodeIgnored",
			want: "n1:0 n3:1", after: "{currentBatch: 1, failedNodes: 3, batchSize: 2, members: 0, 1}",
		},
		{
			name: "a node that fails with this spec is not tried in circles", state: "{currentBatch: 2, failedNodes: 1, lastBatchSize: 1}",
			nodes: "n1 erroring done=4/0; n2 complete", after: "{currentBatch: 2, completedNodes: 1, failedNodes: 1, lastBatchSize: 1}",
		},
		{
			name: "stopped", permits: two, state: "{currentBatch: 2, consecutiveFailures: 1, batchSize: 2, closed: [1/1]}",
			nodes: "n1 erroring done=4/0; n2 erroring done=4/1; n3; n4; n5", want: "",
			after: "{currentBatch: 3, consecutiveFailures: 2, failedNodes: 2, shouldStop: true, lastBatchSize: 2, lastBatchFailed: true, closed: [1/1, 2/2], lost: [n1, n2]}",
		},
		{
			name: "stopped: nothing new, also not for a node that has begun", state: "{currentBatch: 3, consecutiveFailures: 2, failedNodes: 2, shouldStop: true, before: 2}",
			nodes: "n1 erroring done=4/0; n2 begun done=4/1; n3; n4", want: "",
			after: "{currentBatch: 3, consecutiveFailures: 2, failedNodes: 1, shouldStop: true, before: 2}",
		},
		{
			name: "a policy that was edited to never stop", policy: "default: {budget: {count: 1}, strategy: {fixed: {}}}",
			state: "{currentBatch: 3, consecutiveFailures: 2, shouldStop: true, before: 2}", nodes: "n1", want: "n1:0",
			after: "{currentBatch: 3, consecutiveFailures: 2, batchSize: 1, members: 0, before: 2}",
		},
		{
			name: "a recovery without a batch is no batch", state: "{currentBatch: 3, completedNodes: 1, failedNodes: 2, lastBatchSize: 2}",
			nodes: "n1 complete; n2 complete; n3 erroring done=4/0; n4 held=NodeIgnored",
			after: "{currentBatch: 3, completedNodes: 2, failedNodes: 1, lastBatchSize: 2}",
		},
		{
			name: "an upgrade makes complete nodes incomplete", permits: nil, state: "{currentBatch: 3, completedNodes: 3, lastBatchSize: 2}",
			nodes: "n1 begun; n2 begun; n3 begun", want: "n1:0 n2:1", after: "{currentBatch: 3, lastBatchSize: 2, batchSize: 2, members: 0, 1}",
		},
		{
			name: "what failed before a pause still fails after it", permits: one, state: "{currentBatch: 3, failedNodes: 2, lastBatchSize: 2, batchSize: 1}",
			nodes: "n1 in_progress; n2 erroring; n3 erroring", want: "n1:0", after: "{currentBatch: 3, failedNodes: 2, lastBatchSize: 2, batchSize: 1, members: 0}",
		},
		{
			name: "the last batch is evaluated", permits: one, policy: byTwos + "\nresetBatchStateOnCompletion: false",
			state: "{currentBatch: 2, completedNodes: 1, consecutiveFailures: 1, lastBatchSize: 1, batchSize: 1, before: 1}", nodes: "n1 complete done=4/0; n2 complete",
			after: "{currentBatch: 3, completedNodes: 2, lastBatchSize: 1}",
		},
		{
			name: "the state starts anew when all is complete", permits: one, state: "{currentBatch: 2, completedNodes: 1, lastBatchSize: 1, batchSize: 1}",
			nodes: "n1 complete; n2 complete", want: "n1:0", after: "{currentBatch: 1}",
		},
		{
			name: "a node that joins then is the first batch", state: "{currentBatch: 1}", nodes: "n1 complete; n2 complete; n3",
			want: "n3:0", after: "{currentBatch: 1, completedNodes: 2, batchSize: 1, members: 0}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.policy == "" {
				c.policy = byTwos
			}
			s := withState(t, skyhook(0, c.permits...), c.state)
			s.Status.NextOrder = int32(len(c.permits))
			for _, p := range c.permits {
				s.Status.NextOrder = max(s.Status.NextOrder, p.Order+1)
			}
			status := rollout.Plan(rollout.Input{Skyhook: s, Policy: policy(t, c.policy), Nodes: nodes(c.nodes), Now: now})
			if got := text(status.Permits); got != c.want {
				t.Errorf("permits %q, want %q", got, c.want)
			}
			if got := stateText(t, status); got != c.after {
				t.Errorf("state\n     %s\nwant %s", got, c.after)
			}
		})
	}
}

// TestDepartedCountEverywhere: nobody knows where a node belonged that left the selection while it worked.
func TestDepartedCountEverywhere(t *testing.T) {
	p := policy(t, `
default: {budget: {count: 1}, strategy: {fixed: {}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 2}, strategy: {fixed: {initialBatch: 2}}}]`)
	in := rollout.Input{
		Skyhook: withState(t, skyhook(0, permit("left", 0)), ""), Policy: p, Now: now,
		Nodes: nodes("a tier=gpu; b tier=gpu; c"), Departed: map[string]rollout.Departed{"left": {}},
	}
	if got := text(rollout.Plan(in).Permits); got != "left:0 a:1" {
		t.Errorf("while it works: %q", got)
	}
	in.Departed["left"] = rollout.Departed{FinishedPermit: "4/0"}
	if got := text(rollout.Plan(in).Permits); got != "a:1 b:2 c:3" {
		t.Errorf("when it gave its permit back: %q", got)
	}
}

// TestMaxPermitsOverAll: the most permits of a Skyhook is for all its compartments together.
func TestMaxPermitsOverAll(t *testing.T) {
	p := policy(t, `
default: {budget: {percent: 100}, strategy: {fixed: {initialBatch: 5000}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {percent: 100}}]`)
	all := fleet(3000)
	for i := range all {
		if i%5 == 0 {
			all[i].Labels = map[string]string{"tier": "gpu"}
		}
	}
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Policy: p, Nodes: all, Now: now})
	gpu, rest := status.CompartmentStatuses["gpu"], status.CompartmentStatuses[rollout.DefaultCompartment]
	if len(status.Permits) != rollout.MaxPermits || gpu.InProgress != 600 || rest.InProgress != 400 {
		t.Errorf("%d permits, %d and %d in progress", len(status.Permits), gpu.InProgress, rest.InProgress)
	}
}

// TestHeldPolicy: while something holds the whole Skyhook batches neither end nor begin.
func TestHeldPolicy(t *testing.T) {
	const state = "{currentBatch: 2, completedNodes: 1, failedNodes: 1, lastBatchSize: 2, batchSize: 2}"
	paused := &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused, Message: "paused"}}
	s := withState(t, skyhook(0, permit("n1", 0), v1alpha1.Permit{Node: "n2", Order: 1, Generation: generation, Revoked: true}), state)
	status := rollout.Plan(rollout.Input{
		Skyhook: s, Policy: policy(t, byTwos), Hold: paused, Now: now, Nodes: nodes("n1; n2; n3 complete; n4 complete; n5"),
	})
	if got := text(status.Permits); got != "n1:0 n2:1!" {
		t.Errorf("permits %q", got)
	}
	if got, want := stateText(t, status), "{currentBatch: 2, completedNodes: 2, lastBatchSize: 2, batchSize: 2, members: 0, 1}"; got != want {
		t.Errorf("state %s", got)
	}
}

// TestCompleteWhilePaused: a member whose permit comes back while nothing starts is counted as what it was then.
func TestCompleteWhilePaused(t *testing.T) {
	p := policy(t, "default: {budget: {count: 1}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1}}}")
	s := skyhook(0)
	plan := func(hold *situation.Hold, at string) {
		s.Status = rollout.Plan(rollout.Input{Skyhook: s, Policy: p, Hold: hold, Now: now, Nodes: nodes(at)})
	}
	plan(nil, "n1; n2")
	done := s.Status.Permits[0].Token()
	plan(holdPaused, "n1 complete done="+done+"; n2")
	plan(nil, "n1 complete done="+done+"; n2")
	if b := s.Status.CompartmentStatuses[rollout.DefaultCompartment].BatchState; b.ShouldStop || text(s.Status.Permits) != "n2:1" {
		t.Errorf("permits %s, state %+v", text(s.Status.Permits), b)
	}
}

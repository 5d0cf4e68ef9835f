package rollout_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// pacedFleet is a Skyhook with a policy and its nodes. The status changes by compare-and-swap; the planner sees some
// earlier version of each node, and each node some earlier version of the status.
type pacedFleet struct {
	t       *rapid.T
	spec    v1alpha1.Skyhook
	policy  *rollout.Policy
	ceiling map[string]int // of compartments whose budget is a count
	edited  bool
	// failures is how many of five attempts fail.
	failures int
	// statuses are all versions of the status; the last is the present one.
	statuses []v1alpha1.SkyhookStatus
	nodes    []*pacedNode
	forward  bool
	// places that were given in this rollout: by node, and to whom.
	places map[string]int32
	owners map[int32]string
}

// stages of a rollout on a node; each needs a pod, and each pod a permit.
const stages = 2

type pod int

const (
	noPod pod = iota
	running
	failingPod
)

// pacedNode is a node that does what the lifecycle does.
type pacedNode struct {
	name, tier string
	// left says that the node left the selection, or the cluster, at some time.
	left     bool
	versions []pacedVersion
	// planner and status are the versions that were seen last: of the node by the planner, of the status by the node.
	planner, status int
	pod             pod
}

// pacedVersion is what the node object and its record say.
type pacedVersion struct {
	exists, selected, aside, away bool
	generation                    int64
	stage                         int
	erroring, working, cordoned   bool
	wait                          record.Frees
	done                          string
}

func (n *pacedNode) last() pacedVersion { return n.versions[len(n.versions)-1] }

func (n *pacedNode) change(f func(*pacedVersion)) {
	next := n.last()
	f(&next)
	if next != n.last() {
		n.versions = append(n.versions, next)
	}
}

func (v pacedVersion) complete(generation int64) bool {
	return v.generation == generation && v.stage == stages
}

func newPacedFleet(t *rapid.T, forward bool) *pacedFleet {
	f := &pacedFleet{
		t: t, forward: forward, statuses: []v1alpha1.SkyhookStatus{{}},
		places: map[string]int32{}, owners: map[int32]string{},
	}
	f.spec.Generation = 1
	f.spec.Spec.DeploymentPolicy = "paced"
	f.spec.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
	f.editPolicy(t)
	f.edited = false
	f.failures = rapid.IntRange(0, 4).Draw(t, "failures")
	for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
		f.nodes = append(f.nodes, &pacedNode{
			name: fmt.Sprintf("n%d", i), tier: rapid.SampledFrom([]string{"", "gpu", "tpu"}).Draw(t, "tier"),
			versions: []pacedVersion{{}, {exists: true, selected: true}},
		})
	}
	return f
}

func (f *pacedFleet) editPolicy(t *rapid.T) {
	f.edited, f.ceiling = true, map[string]int{}
	part := func(name string) string {
		strategy := rapid.SampledFrom([]string{
			"fixed: {initialBatch: 2, failureThreshold: 1}", "fixed: {initialBatch: 9, batchThreshold: 50}",
			"linear: {delta: 2, failureThreshold: 2, safetyLimit: 80}", "exponential: {failureThreshold: 1, safetyLimit: 100}",
		}).Draw(t, "strategy")
		budget := "percent: 40"
		if rapid.IntRange(0, 3).Draw(t, "budget") > 0 {
			f.ceiling[name] = rapid.IntRange(1, 3).Draw(t, "count")
			budget = fmt.Sprintf("count: %d", f.ceiling[name])
		}
		return fmt.Sprintf("budget: {%s}, strategy: {%s}", budget, strategy)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "default: {%s}\ncompartments:\n", part(rollout.DefaultCompartment))
	for _, tier := range []string{"gpu", "tpu"} {
		fmt.Fprintf(&b, "- {name: %s, selector: {matchLabels: {tier: %s}}, %s}\n", tier, tier, part(tier))
	}
	f.policy = policy(f.t, b.String())
}

// compartment is where a node belongs.
func (n *pacedNode) compartment() string {
	if n.tier == "" {
		return rollout.DefaultCompartment
	}
	return n.tier
}

// input is what the planner sees.
func (f *pacedFleet) input(view func(*pacedNode) pacedVersion) rollout.Input {
	s := f.spec.DeepCopy()
	s.Status = f.statuses[len(f.statuses)-1]
	in := rollout.Input{Skyhook: s, Policy: f.policy, Now: now, Departed: map[string]rollout.Departed{}}
	for _, n := range f.nodes {
		v := view(n)
		switch {
		case !v.exists:
		case !v.selected:
			verdict := situation.Left
			if v.working || v.erroring || v.cordoned {
				verdict = situation.Bad
			}
			in.Departed[n.name] = rollout.Departed{Verdict: verdict, FinishedPermit: v.done}
		default:
			in.Nodes = append(in.Nodes, v.seen(n, s.Generation))
		}
	}
	return in
}

func (v pacedVersion) seen(n *pacedNode, generation int64) rollout.Node {
	seen := rollout.Node{
		Name: n.name, Created: now, FinishedPermit: v.done, Labels: map[string]string{"tier": n.tier},
		Situation: situation.Situation{Facts: situation.Facts{
			Complete: v.complete(generation), Unavailable: v.away, Disturbed: v.cordoned, Interrupting: v.cordoned, FailedRun: v.erroring, Failed: v.erroring, InProgress: v.working,
			Begun: !v.complete(generation) && (v.stage > 0 || v.working || v.cordoned || v.erroring),
		}},
	}
	if v.aside {
		seen.Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, TakesOut: true, Wait: record.Wait{Reason: v1alpha1.ReasonNodeIgnored}}
	}
	if v.cordoned {
		seen.Interrupt = &record.Interrupt{Type: v1alpha1.InterruptReboot, Since: metav1.NewTime(now)}
	}
	if v.wait != "" {
		seen.Wait = &record.Wait{Reason: "Waits", Frees: v.wait}
		seen.Facts.AwaitsTurn = v.wait == record.FreesOther || v.wait == record.FreesAdministrator
	}
	return seen
}

// plan is one pass of the planner.
func (f *pacedFleet) plan(view func(*pacedNode) pacedVersion, change func(*rollout.Input)) {
	in := f.input(view)
	change(&in)
	before := in.Skyhook.Status
	after := rollout.Plan(in)
	f.checkPass(in, before, after)
	f.statuses = append(f.statuses, after)
	if f.forward {
		f.checkPlaces(before, after)
	}
}

// act is one pass of a node under the status that it sees.
func (f *pacedFleet) act(n *pacedNode, status int, works, interrupts bool) {
	n.status = status
	if !n.last().exists {
		return
	}
	listed := permitOf(f.statuses[status], n.name)
	permit := listed
	if listed != nil && listed.Token() == n.last().done {
		permit = nil
	}
	n.change(func(v *pacedVersion) {
		if !v.selected {
			n.pod, n.left = noPod, true
			*v = pacedVersion{exists: true, aside: v.aside, away: v.away}
			if listed != nil {
				v.done = listed.Token()
			}
			return
		}
		n.observe(v, works, f.spec.Generation)
		n.start(v, permit, interrupts)
		n.giveBack(v, permit)
	})
}

// observe is what became of the pod. A new generation replaces it.
func (n *pacedNode) observe(v *pacedVersion, works bool, generation int64) {
	switch {
	case v.generation != generation:
		n.pod, v.stage, v.generation, v.working = noPod, 0, generation, false
	case n.pod != noPod && works:
		n.pod, v.erroring, v.working = noPod, false, false
		v.stage++
	case n.pod == running:
		n.pod, v.erroring, v.working = failingPod, true, false
	}
}

// start starts the pod of the next stage, or records what it waits for.
func (n *pacedNode) start(v *pacedVersion, permit *v1alpha1.Permit, interrupts bool) {
	v.wait = ""
	switch {
	case n.pod != noPod || v.stage == stages:
	case v.aside:
		v.wait = record.FreesAdministrator
	case permit == nil || permit.Revoked:
		v.wait = record.FreesOther
	case !v.away:
		n.pod, v.erroring, v.working, v.cordoned = running, false, true, v.cordoned || interrupts
	}
}

// giveBack acknowledges a permit: when all is done, when the node is excluded, or when it is asked to and nothing runs
// but what failed. Who has begun keeps it.
func (n *pacedNode) giveBack(v *pacedVersion, permit *v1alpha1.Permit) {
	over := n.pod == noPod && (v.stage == stages || v.aside)
	if over {
		v.cordoned = false
	}
	if permit != nil && (over || permit.Revoked && n.pod != running && !v.cordoned && (v.erroring || v.stage == 0 && n.pod == noPod)) {
		v.done = permit.Token()
	}
}

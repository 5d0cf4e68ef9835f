package rollout_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

const (
	stopAtOnce2 = "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 2, failureThreshold: 1, safetyLimit: 100}}}"
	stopAtOnce1 = "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}"
)

// A member that leaves the selection before anything began there, while another member works.
func TestUnbegunLeaverCountsAsBad(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Policy: policy(t, stopAtOnce2), Now: now}
	in.Nodes = nodes("n1; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n2 in_progress; n3; n4; n5") // n1 is relabelled, nothing began there
	in.Departed = map[string]rollout.Departed{"n1": {Verdict: situation.Left}}
	s.Status = rollout.Plan(in)
	in.Departed = map[string]rollout.Departed{"n1": {Verdict: situation.Left, FinishedPermit: "4/0"}} // Remove acknowledges
	s.Status = rollout.Plan(in)
	in.Departed = nil
	in.Nodes = nodes("n2 complete done=4/1; n3; n4; n5")
	s.Status = rollout.Plan(in)
	if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("stopped by a node on which nothing began and that left")
	}
}

// A member completes and is relabelled out of the selection before the planner saw that its permit is back.
func TestCompleteLeaverCountsAsBad(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Policy: policy(t, stopAtOnce1), Now: now}
	in.Nodes = nodes("n1; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n2; n3; n4; n5")
	in.Departed = map[string]rollout.Departed{"n1": {Verdict: situation.Left, FinishedPermit: "4/0"}}
	s.Status = rollout.Plan(in)
	if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("stopped by a node that completed")
	}
}

// withCompartment has a compartment of this name for the nodes of the tier gpu.
func withCompartment(name string) string {
	return strings.Replace(gpuPolicy, "NAME", name, 1)
}

const gpuPolicy = `
default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
compartments: [{name: NAME, selector: {matchLabels: {tier: gpu}}, budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}]`

// The compartment is renamed while its canary works.
func TestRenamedCompartmentForgetsCanary(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now}
	named := func(n string) *rollout.Policy {
		return policy(t, withCompartment(n))
	}
	in.Policy = named("gpu")
	in.Nodes = nodes("n1 tier=gpu; n2 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	in.Policy = named("gpus")
	in.Nodes = nodes("n1 in_progress tier=gpu; n2 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	if len(s.Status.Permits) != 1 {
		t.Errorf("the canary of one still works and others begin: %s", text(s.Status.Permits))
	}
	in.Nodes = nodes("n1 erroring cordoned tier=gpu; n2 complete done=4/1 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	if !stateOf(s.Status, "gpus").ShouldStop {
		t.Error("the canary is bad and nothing stops")
	}
}

// The compartment is removed from the policy, its nodes fall into the default.
func TestRemovedCompartmentForgetsCanary(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now}
	in.Policy = policy(t, withCompartment("gpu"))
	in.Nodes = nodes("n1 tier=gpu; n2 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	in.Policy = policy(t, stopAtOnce1)
	in.Nodes = nodes("n1 in_progress tier=gpu; n2 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	if len(s.Status.Permits) != 1 {
		t.Errorf("the canary of one still works and others begin: %s", text(s.Status.Permits))
	}
	in.Nodes = nodes("n1 erroring cordoned tier=gpu; n2 complete done=4/1 tier=gpu; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("the canary is bad and nothing stops")
	}
}

// A canary is ignored and included again before it gave its permit back.
func TestIgnoredAndBack(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	in.Nodes = nodes("n1; n2; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 in_progress held=NodeIgnored; n2; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 in_progress; n2 in_progress; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring cordoned; n2 complete done=4/1; n3; n4")
	s.Status = rollout.Plan(in)
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("n1 works with its permit, is bad, and nothing stops")
	}
}

// The canary gets its permit and begins, while the planner still sees it NotReady and not begun.
func TestStaleNotReady(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	in.Nodes = nodes("n1; n2; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 restarts; n2; n3; n4") // NotReady for half a minute; the lifecycle begins at the same time
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 in_progress; n2 in_progress; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring cordoned; n2 complete done=4/1; n3; n4")
	s.Status = rollout.Plan(in)
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("n1 works with its permit, is bad, and nothing stops")
	}
}

// unrevoked is how many permits let a node work.
func unrevoked(permits []v1alpha1.Permit) (n int) {
	for _, p := range permits {
		if !p.Revoked {
			n++
		}
	}
	return n
}

// Kubectl skyhook reset in the middle of an edit.
func TestResetLetsAllStaleBegin(t *testing.T) {
	s := skyhook(0)
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 4}}}")}
	in.Nodes = nodes("n1; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	in.Policy = policy(t, stopAtOnce1)
	s.Generation++
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
	in.Nodes = nodes("n1 begun; n2 begun; n3 begun; n4 begun; n5")
	s.Status = rollout.Plan(in)
	s.Status = rollout.Restart(s.Status)
	s.Status = rollout.Plan(in)
	if free := unrevoked(s.Status.Permits); free > 1 {
		t.Errorf("%d nodes may begin the new content in the first batch of 1", free)
	}
}

// Upgrade of a status that names no content: its bad batch is over, its node is cordoned and holds its permit.
func TestUpgradeCountsBadTwice(t *testing.T) {
	s := skyhook(0, permit("n1", 0))
	s.Status.ObservedGeneration = s.Generation
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{rollout.DefaultCompartment: {BatchState: &v1alpha1.BatchState{
		CurrentBatch: 2, ConsecutiveFailures: 1, FailedNodes: 1, LastBatchSize: 1, LastBatchFailed: true,
	}}}
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 1}, strategy: {fixed: {initialBatch: 1, failureThreshold: 2}}}")}
	in.Nodes = nodes("n1 erroring cordoned; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("the upgrade counts the bad batch twice, and stops")
	}
}

// A bad member of B moves to A, gives its permit back, and is given one in A in the same pass: B forgets its verdict.
func TestMovedAndGrantedInOnePass(t *testing.T) {
	const p = `
default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
compartments:
- {name: a, selector: {matchLabels: {tier: a}}, budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
- {name: b, selector: {matchLabels: {tier: b}}, budget: {count: 4}, strategy: {fixed: {initialBatch: 2, failureThreshold: 1, safetyLimit: 100}}}`
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, p)}
	in.Nodes = nodes("n1 tier=b; n2 tier=b; n3 tier=b; n4 tier=b; n5 tier=b")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring tier=b; n2 in_progress tier=b; n3 tier=b; n4 tier=b; n5 tier=b")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring wait=WaitingForPermit done=4/0 tier=a; n2 in_progress tier=b; n3 tier=b; n4 tier=b; n5 tier=b")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 complete done=4/0/1 tier=a; n2 complete done=4/1 tier=b; n3 tier=b; n4 tier=b; n5 tier=b")
	s.Status = rollout.Plan(in)
	if !stateOf(s.Status, "b").ShouldStop {
		t.Error("n1 failed for good as a member of b and gave its permit back; b forgot")
	}
}

// Disabled and enabled again: the stop is gone although its cause is not.
func TestDisableEndsStop(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	in.Nodes = nodes("n1; n2; n3; n4")
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring cordoned; n2; n3; n4")
	s.Status = rollout.Plan(in)
	in.Hold = holdDisabled
	s.Status = rollout.Plan(in)
	in.Hold = nil
	s.Status = rollout.Plan(in)
	if b := stateOf(s.Status, rollout.DefaultCompartment); !b.ShouldStop || len(s.Status.Permits) > 1 {
		t.Error("disabled for a moment: the stop is gone, the cause is there, and others begin")
	}
}

// After an edit unbegun nodes come before half-done ones.
func TestBegunFirst(t *testing.T) {
	s := skyhook(0)
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce2)}
	in.Nodes = nodes("n1; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	in.Policy = policy(t, stopAtOnce1)
	s.Generation++
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
	in.Nodes = nodes("n1; n2 begun cordoned; n3; n4; n5")
	s.Status = rollout.Plan(in)
	for _, p := range s.Status.Permits {
		if p.Node == "n2" && p.Revoked {
			t.Error("the half-done node waits for one that has not begun")
		}
	}
}

// The canary hangs the host, and a person takes it out: the next batch is not twice as large.
func TestTakenOutStaysBad(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 9}, strategy: {exponential: {initialBatch: 1, failureThreshold: 1}}}")}
	for i, at := range []string{
		"n1; n2; n3; n4; n5; n6", "n1 begun not-ready; n2; n3; n4; n5; n6", "n1 begun not-ready held=NodeIgnored; n2; n3; n4; n5; n6",
		"n1 begun not-ready held=NodeIgnored done=4/0; n2; n3; n4; n5; n6", "n1 begun not-ready held=NodeIgnored done=4/0; n2; n3; n4; n5; n6",
	} {
		in.Nodes = nodes(at)
		s.Status = rollout.Plan(in)
		if i > 0 && !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
			t.Fatalf("%s: the stop is over", at)
		}
	}
	s.Annotations = map[string]string{v1alpha1.AnnotationResume: "now"}
	s.Status = rollout.Plan(in)
	if len(s.Status.Permits) != 1 {
		t.Errorf("%v after a person continued it: want one", s.Status.Permits)
	}
}

// What stopped the rollout is tried again before any other node, whether it stays stopped (a person repaired the host and
// runs the package again) or continues (with an edit).
func TestStoppedNodeIsFirst(t *testing.T) {
	const fresh, fails, back = "n1; n2; n3; n4", "n1 erroring; n2; n3; n4", "n1 erroring done=4/0; n2; n3; n4"
	const edited = "n1 erroring retried" // it looks at the new spec, which it has not seen yet
	for _, c := range []struct {
		name  string
		at    []string
		edit  int // before which pass
		stops bool
		holds bool
	}{
		{"nothing is different", []string{fresh, fails, back, back}, 0, true, false},
		{"the package runs again", []string{fresh, fails, back, "n1 begun done=4/0; n2; n3; n4", "n1 in_progress; n2; n3; n4"}, 0, true, true},
		{"edited", []string{fresh, fails, back, edited + " done=4/0; n2; n3; n4", edited + "; n2; n3; n4", "n1 in_progress; n2; n3; n4"}, 3, false, true},
		{"edited in the moment of its failure", []string{fresh, fails, edited + "; n2; n3; n4", "n1 in_progress; n2; n3; n4"}, 2, false, true},
		{"and it fails again", []string{fresh, fails, back, edited + " done=4/0; n2; n3; n4", fails, "n1 erroring done=5/0; n2; n3; n4"}, 3, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
			for i, at := range c.at {
				in.Nodes = nodes(at)
				if c.edit > 0 && i == c.edit {
					s.Generation++
					s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
				}
				s.Status = rollout.Plan(in)
				for _, p := range s.Status.Permits {
					if p.Node != "n1" {
						t.Fatalf("%s: %s has a permit before n1", at, p.Node)
					}
				}
			}
			if is := stateOf(s.Status, rollout.DefaultCompartment).ShouldStop; is != c.stops {
				t.Errorf("stopped: %t", is)
			}
			if holds := len(s.Status.Permits) > 0; holds != c.holds {
				t.Errorf("permits: %v", s.Status.Permits)
			}
		})
	}
}

// The kubelet went on with the last stage of the node that stopped the rollout, and it succeeds: nothing is bad any more.
func TestCompleteWithoutPermitEndsStop(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in,
		"n1; n2; n3; n4", "n1 erroring; n2; n3; n4", "n1 erroring done=4/0; n2; n3; n4", "n1 complete done=4/0; n2; n3; n4",
	)
	if b := stateOf(s.Status, rollout.DefaultCompartment); b.ShouldStop || len(b.Lost) > 0 || text(s.Status.Permits) != "n2:1" {
		t.Errorf("permits %s, %+v", text(s.Status.Permits), b)
	}
}

// The dead canary is deleted, which changes the ceilings of two compartments that select the same nodes: those of the one
// that is stopped do not start in the other.
func TestStoppedCompartmentKeepsItsNodes(t *testing.T) {
	const p = `
default: {budget: {count: 1}, strategy: {fixed: {}}}
compartments:
- {name: a, selector: {matchLabels: {tier: gpu}}, budget: {percent: 50}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
- {name: b, selector: {matchLabels: {zone: x}}, budget: {count: 2}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}`
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, p), Departed: map[string]rollout.Departed{}}
	planAll(&in,
		"n1 zone=x tier=gpu; n2 zone=x tier=gpu; n3 zone=x tier=gpu; n4 zone=x tier=gpu; n5 tier=gpu; n6 tier=gpu",
		"n1 zone=x tier=gpu begun not-ready; n2 zone=x tier=gpu; n3 zone=x tier=gpu; n4 zone=x tier=gpu; n5 tier=gpu; n6 tier=gpu",
		"n2 zone=x tier=gpu; n3 zone=x tier=gpu; n4 zone=x tier=gpu",
	)
	if len(s.Status.Permits) > 0 {
		t.Errorf("permits %s", text(s.Status.Permits))
	}
}

// A member moves, gives its permit back before anything began, and gets one in its new compartment in the same
// pass. It fails there, and stops both.
func TestOneNodeInTwoBatches(t *testing.T) {
	const p = `
default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
compartments:
- {name: a, selector: {matchLabels: {tier: a}}, budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}
- {name: b, selector: {matchLabels: {tier: b}}, budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}`
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, p)}
	planAll(&in,
		"n1 tier=b; n2 tier=b; n3",
		"n1 tier=a done=4/0; n2 tier=b; n3", // it was tainted for a moment, and moved
		"n1 tier=a erroring done=4/0 cordoned; n2 tier=b; n3",
	)
	if a, b := stateOf(s.Status, "a"), stateOf(s.Status, "b"); b.ShouldStop && a.ConsecutiveFailures == 1 {
		t.Error("one failure counts in two compartments, and stops the one that the node left before anything began there")
	}
}

// The spec is edited, not what rolls out, while the canary is away for a moment too long.
func TestEditDropsMember(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	for i, at := range []string{
		"n1; n2; n3; n4",
		"n1 begun not-ready; n2; n3; n4", // and the edit
		"n1 in_progress; n2 in_progress; n3; n4",
		"n1 erroring cordoned; n2 complete done=5/1; n3; n4",
	} {
		if i == 1 {
			s.Generation++
		}
		in.Nodes = nodes(at)
		s.Status = rollout.Plan(in)
	}
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("n1 works with its permit, fails after the edit, and is judged by nobody")
	}
}

// The bad node of a closed batch, which holds its permit, moves to a compartment that is new.
func TestClosedAndAdopted(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in, "n1; n2; n3 tier=gpu; n4 tier=gpu", "n1 erroring cordoned; n2; n3 tier=gpu; n4 tier=gpu")
	in.Policy = policy(t, withCompartment("gpu"))
	in.Nodes = nodes("n1 erroring cordoned tier=gpu; n2; n3 tier=gpu; n4 tier=gpu")
	s.Status = rollout.Plan(in)
	if stateOf(s.Status, "gpu").ShouldStop && stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("one bad node is in a batch of each of two compartments, and stops both")
	}
}

// The canary is tainted for a moment, before anything began, and the taint goes before it gave its permit back.
func TestTaintForAMoment(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in,
		"n1; n2; n3; n4", "n1 tainted=1s; n2; n3; n4", "n1 in_progress; n2 in_progress; n3; n4",
		"n1 erroring cordoned; n2 complete done=4/1; n3; n4",
	)
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("n1 works with its permit, is bad, and nothing stops")
	}
}

// Disabled and enabled between two passes, in which the bad node gave its permit back: the stop stays, and names it.
func TestDisabledBetweenPasses(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in,
		"n1; n2; n3; n4", "n1 begun not-ready; n2; n3; n4", // away: stopped
		"n1 begun done=4/0; n2; n3; n4", // disabled, permit returned, enabled, Ready again
		"n1 begun done=4/0; n2; n3; n4",
	)
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRolloutStopped)
	if c == nil || !strings.Contains(c.Message, "n1") {
		t.Errorf("%+v", c)
	}
}

// A node of a cloud takes the place of the canary that died, under its name, before anybody saw that.
func TestReplacedUnderItsName(t *testing.T) {
	for _, begun := range []string{"", " begun"} {
		s := skyhook(0)
		in := rollout.Input{Skyhook: s, Policy: policy(t, stopAtOnce1), Now: now, Nodes: nodes("n1; n2; n3")}
		s.Status = rollout.Plan(in)
		in.Nodes = nodes("n1" + begun + "; n2; n3")
		in.Nodes[0].Created = now.Add(time.Minute)
		for range 2 {
			s.Status = rollout.Plan(in)
			revoked := s.Status.Permits[0].Revoked
			if b := stateOf(s.Status, rollout.DefaultCompartment); !b.ShouldStop || len(s.Status.Permits) != 1 || revoked != (begun == "") || b.Lost[0] != "n1" {
				t.Errorf("%q: permits %s, %+v", begun, text(s.Status.Permits), b)
			}
		}
	}
}

// A node that was created by a clock ahead of ours is no other one.
func TestCreatedAheadOfUs(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Policy: policy(t, stopAtOnce1), Now: now, Nodes: nodes("n1; n2; n3")}
	for i := range in.Nodes {
		in.Nodes[i].Created = now.Add(time.Hour)
	}
	s.Status = rollout.Plan(in)
	in.Nodes[0].Facts.Begun = true
	s.Status = rollout.Plan(in)
	if b := stateOf(s.Status, rollout.DefaultCompartment); b.ShouldStop || text(s.Status.Permits) != "n1:0" {
		t.Errorf("permits %s, %+v", text(s.Status.Permits), b)
	}
}

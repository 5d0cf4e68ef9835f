package rollout_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestOthersAreNoProgress: nodes that are bad without having been through a batch of what rolls out now are no progress
// of it, which would switch the canary off, whenever they became bad.
func TestOthersAreNoProgress(t *testing.T) {
	const (
		canary = "default: {budget: {count: 5}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1}}}"
		work   = "n1 in_progress; n2 in_progress; n3 in_progress; n4 in_progress; n5; n6; n7; n8"
		dead   = "n1 begun not-ready cordoned; n2 begun not-ready cordoned; n3 begun not-ready cordoned; n4 begun not-ready cordoned; n5; n6; n7; n8"
		next   = "n1 begun not-ready cordoned; n2 begun not-ready cordoned; n3 begun not-ready cordoned; n4 begun not-ready cordoned; n5 erroring cordoned; n6; n7; n8"
		out    = "n1 begun not-ready held=NodeIgnored; n2 begun not-ready held=NodeIgnored; n3 begun not-ready held=NodeIgnored; n4 begun not-ready held=NodeIgnored; n5; n6; n7; n8"
	)
	for _, c := range []struct {
		name, first string
		fleets      []string // after the edit
	}{
		{name: "dead before", first: canary4, fleets: []string{dead, dead, next}},
		{name: "dead after", first: canary4, fleets: []string{"n1 begun; n2 begun; n3 begun; n4 begun; n5; n6; n7; n8", dead, next}},
		{name: "taken out meanwhile", first: canary4, fleets: []string{out, dead, next}},
		{name: "the policy comes with the content", fleets: []string{dead, dead, next}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(4)
			s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
			in := rollout.Input{Skyhook: s, Now: now}
			if c.first != "" {
				s.Spec.InterruptionBudget.Count, in.Policy = nil, policy(t, c.first)
			}
			planAll(&in, "n1; n2; n3; n4; n5; n6; n7; n8", work)
			s.Generation++
			s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
			s.Spec.InterruptionBudget.Count, s.Spec.DeploymentPolicy = nil, "careful"
			in.Policy = policy(t, canary)
			planAll(&in, c.fleets...)
			if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
				t.Errorf("the canary of the new content is bad, and others begin: %s, %s", text(s.Status.Permits), stateText(t, s.Status))
			}
		})
	}
}

const canary4 = "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 4, failureThreshold: 1}}}"

// TestBadMemberOfARemovedCompartment: its verdict counts in the batch of the compartment that has its node now.
func TestBadMemberOfARemovedCompartment(t *testing.T) {
	const two = "budget: {count: 4}, strategy: {fixed: {initialBatch: 2, failureThreshold: 1, safetyLimit: 100}}"
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now}
	in.Policy = policy(t, "default: {"+two+"}\ncompartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, "+two+"}]")
	const half = "n1 begun not-ready tier=gpu; n2 in_progress tier=gpu; n3 tier=gpu; n4 tier=gpu; n5 tier=gpu"
	planAll(&in, "n1 tier=gpu; n2 tier=gpu; n3 tier=gpu; n4 tier=gpu; n5 tier=gpu", half)
	in.Policy = policy(t, stopAtOnce2)
	planAll(&in, half, "n1 begun not-ready tier=gpu; n2 complete done=4/1 tier=gpu; n3 tier=gpu; n4 tier=gpu; n5 tier=gpu")
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Errorf("n1 is as dead as before, and others begin: %s", text(s.Status.Permits))
	}
}

// TestStopEndsWhenAllAreComplete: whichever of those that stopped it is repaired first, beside members of the running batch.
func TestStopEndsWhenAllAreComplete(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 3, failureThreshold: 1, safetyLimit: 100}}}")}
	const last = "n1 complete done=4/0/1; n2 complete done=4/1/1; n3 complete done=4/2; n4; n5; n6"
	planAll(&in, "n1; n2; n3; n4; n5; n6",
		"n1 erroring; n2 in_progress held=NodeIgnored; n3 in_progress held=NodeIgnored; n4; n5; n6", // which is bad
		"n1 erroring done=4/0; n2 in_progress; n3 in_progress; n4; n5; n6",                          // both are back
		"n1 erroring done=4/0; n2 erroring; n3 in_progress; n4; n5; n6",
		"n1 erroring done=4/0; n2 erroring done=4/1; n3 in_progress; n4; n5; n6",
		"n1 begun done=4/0; n2 erroring done=4/1; n3 in_progress; n4; n5; n6", // repaired
		"n1 begun done=4/0; n2 begun done=4/1; n3 in_progress; n4; n5; n6",
		"n1 begun done=4/0; n2 begun done=4/1; n3 complete done=4/2; n4; n5; n6",
		"n1 begun done=4/0; n2 begun done=4/1; n3 complete done=4/2; n4; n5; n6",
		last, last, last)
	if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Errorf("all that were bad are complete, and it is stopped: %s", stateText(t, s.Status))
	}
}

// TestLeaverWhilePolicyIsMissing: nobody judges then, so a node that leaves the selection is judged when there is one.
func TestLeaverWhilePolicyIsMissing(t *testing.T) {
	for _, is := range []string{"n1", "n1 complete"} {
		s := skyhook(0)
		s.Spec.DeploymentPolicy = "careful"
		p := policy(t, stopAtOnce1)
		in := rollout.Input{Skyhook: s, Now: now, Policy: p}
		planAll(&in, "n1; n2; n3; n4")
		in.Policy, in.PolicyMissing = nil, true
		planAll(&in, is+"; n2; n3; n4")
		in.Departed = map[string]rollout.Departed{"n1": {Verdict: situation.Left}}
		planAll(&in, "n2; n3; n4")
		in.Departed = map[string]rollout.Departed{"n1": {Verdict: situation.Left, FinishedPermit: "4/0"}}
		planAll(&in, "n2; n3; n4")
		in.Policy, in.PolicyMissing = p, false
		planAll(&in, "n2; n3; n4")
		if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
			t.Errorf("%s: stopped by a node on which nothing began, or all is well: %s", is, stateText(t, s.Status))
		}
	}
}

package rollout_test

import (
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestCanaryOfARemovedCompartment: it is a member of the compartment that has its node now, also if that node is younger
// than the last permit there.
func TestCanaryOfARemovedCompartment(t *testing.T) {
	for name, age := range map[string]time.Duration{"younger": 10 * time.Minute, "older": 10 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := skyhook(0)
			in := rollout.Input{Skyhook: s, Now: now.Add(-time.Hour), Policy: policy(t, withCompartment("gpu"))}
			plan := func(fleet string) {
				in.Nodes = nodes(fleet)
				for i := range in.Nodes {
					in.Nodes[i].Created = now.Add(-30 * time.Hour)
					if in.Nodes[i].Name == "gpu" {
						in.Nodes[i].Created = now.Add(-age)
					}
				}
				s.Status = rollout.Plan(in)
			}
			plan("d1; d2; d3; d4")
			plan("d1 in_progress; d2; d3; d4")
			in.Now = now
			plan("d1 in_progress; d2; d3; d4; gpu tier=gpu")
			plan("d1 in_progress; d2; d3; d4; gpu in_progress tier=gpu")
			in.Policy = policy(t, stopAtOnce1)
			plan("d1 in_progress; d2; d3; d4; gpu in_progress tier=gpu")
			plan("d1 complete done=4/0; d2; d3; d4; gpu erroring cordoned tier=gpu")
			if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
				t.Errorf("the canary is bad and nothing stops: %s, permits %s", stateText(t, s.Status), text(s.Status.Permits))
			}
		})
	}
}

// TestContentWhilePolicyIsMissing: how far the fleet was with the content before does not count as progress of the next
// one, also if that comes while the policy is missing.
func TestContentWhilePolicyIsMissing(t *testing.T) {
	half := policy(t, "default: {budget: {count: 1}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 50}}}")
	for _, missing := range []bool{false, true} {
		s := skyhook(0)
		s.Spec.DeploymentPolicy = "careful"
		s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
		in := rollout.Input{Skyhook: s, Now: now, Policy: half}
		planAll(&in, "n1; n2; n3; n4", "n1 in_progress; n2; n3; n4")
		s.Generation++
		s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
		const edited = "n1 begun; n2 complete; n3 complete; n4" // two were at the other version already
		if missing {
			in.Policy, in.PolicyMissing = nil, true
			planAll(&in, edited, edited)
			in.Policy, in.PolicyMissing = half, false
		}
		planAll(&in, edited, "n1 erroring cordoned; n2 complete; n3 complete; n4")
		if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
			t.Errorf("missing %t: the first member is bad, and nothing stops: %s", missing, stateText(t, s.Status))
		}
	}
}

package rollout_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func TestRoundsLeft(t *testing.T) {
	prepare := func(s v1alpha1.Strategy) *rollout.Policy {
		p, err := rollout.PreparePolicy(&v1alpha1.DeploymentPolicy{Spec: v1alpha1.DeploymentPolicySpec{
			Default: v1alpha1.PolicyDefault{Budget: v1alpha1.Budget{Count: new(100)}, Strategy: s},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rules := v1alpha1.BatchRules{InitialBatch: new(1)}
	fixed := prepare(v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{BatchRules: rules}})
	linear := prepare(v1alpha1.Strategy{Linear: &v1alpha1.LinearStrategy{BatchRules: rules, Delta: new(1)}})
	doubling := prepare(v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{BatchRules: rules, GrowthFactor: new(2)}})
	type c = v1alpha1.CompartmentStatus
	batch := func(n c, b v1alpha1.BatchState) c {
		n.BatchState = &b
		return n
	}
	permits := []v1alpha1.Permit{{Node: "n1"}}
	for _, test := range []struct {
		name    string
		policy  *rollout.Policy
		permits []v1alpha1.Permit
		of      map[string]c
		want    int
	}{
		{"nobody works", nil, nil, map[string]c{"__default__": {Matched: 10, Ceiling: 2}}, 0},
		{"everything is complete", nil, permits, map[string]c{"__default__": {Matched: 10, Ceiling: 2, Completed: 10}}, 0},
		{"a budget", nil, permits, map[string]c{"__default__": {Matched: 10, Ceiling: 3, InProgress: 3}}, 4},
		{"nodes that fail are left out", nil, permits, map[string]c{"__default__": {Matched: 10, Ceiling: 3, Erroring: 1}}, 3},
		{"no nodes", nil, permits, map[string]c{"__default__": {}}, 0},
		{"the slowest compartment", nil, permits, map[string]c{"a": {Matched: 9, Ceiling: 1}, "b": {Matched: 20, Ceiling: 5}}, 9},
		{"fixed", fixed, permits, map[string]c{"__default__": batch(c{Matched: 5, Ceiling: 100}, v1alpha1.BatchState{})}, 5},
		{"linear: 1 2 3 4", linear, permits, map[string]c{"__default__": batch(c{Matched: 10, Ceiling: 100}, v1alpha1.BatchState{})}, 4},
		{"doubling: 1 2 4 3", doubling, permits, map[string]c{"__default__": batch(c{Matched: 10, Ceiling: 100}, v1alpha1.BatchState{})}, 4},
		{
			"doubling, as the budget lets: 1 2 2 2 2 1", doubling, permits,
			map[string]c{"__default__": batch(c{Matched: 10, Ceiling: 2}, v1alpha1.BatchState{})},
			6,
		},
		{
			"the batch in progress counts, and the next is twice as large: 4 (2 left), 3", doubling, permits,
			map[string]c{"__default__": batch(
				c{Matched: 10, Ceiling: 100, Completed: 5, InProgress: 2}, v1alpha1.BatchState{BatchSize: 4, LastBatchSize: 2},
			)},
			2,
		},
		{
			"stopped: what is in progress, and no more", linear, permits,
			map[string]c{"__default__": batch(c{Matched: 10, Ceiling: 100, InProgress: 2}, v1alpha1.BatchState{ShouldStop: true})},
			1,
		},
		{
			"a compartment that the policy no longer has", linear, permits,
			map[string]c{"gone": batch(c{Matched: 10, Ceiling: 5}, v1alpha1.BatchState{})},
			2,
		},
	} {
		s := &v1alpha1.SkyhookStatus{Permits: test.permits, CompartmentStatuses: test.of}
		if got := rollout.RoundsLeft(test.policy, s); got != test.want {
			t.Errorf("%s: %d rounds, want %d", test.name, got, test.want)
		}
	}
}

package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func TestPreparePolicyRefuses(t *testing.T) {
	const standard = "default: {budget: {count: 1}, strategy: {fixed: {}}}\n"
	for _, c := range []struct{ name, spec, want string }{
		{"no strategy", "default: {budget: {count: 1}}", "spec.default.strategy"},
		{"two strategies", "default: {budget: {count: 1}, strategy: {fixed: {}, linear: {}}}", "spec.default.strategy"},
		{"no budget", "default: {strategy: {fixed: {}}}", "spec.default.budget"},
		{"two budgets", "default: {budget: {count: 1, percent: 2}, strategy: {fixed: {}}}", "spec.default.budget"},
		{"compartment without budget", standard + "compartments: [{name: a, selector: {}}]", "spec.compartments[0].budget"},
		{"compartment with two strategies", standard + "compartments: [{name: a, budget: {count: 1}, strategy: {fixed: {}, linear: {}}}]", "spec.compartments[0].strategy"},
		{"a selector that cannot be parsed", standard + "compartments: [{name: a, budget: {count: 1}, selector: {matchExpressions: [{key: a, operator: Near}]}}]", "spec.compartments[0].selector"},
		{"no name", standard + "compartments: [{name: \"\", budget: {count: 1}}]", "spec.compartments[0].name"},
		{"the reserved name", standard + "compartments: [{name: __default__, budget: {count: 1}}]", "__default__"},
		{"one name twice", standard + "compartments: [{name: a, budget: {count: 1}}, {name: a, budget: {count: 2}}]", "spec.compartments[1].name"},
		{"too many", zones(65), "at most 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p v1alpha1.DeploymentPolicy
			if err := yaml.UnmarshalStrict([]byte(c.spec), &p.Spec); err != nil {
				t.Fatal(err)
			}
			if _, err := rollout.PreparePolicy(&p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

// homes tells each node's compartment: a policy with one permit everywhere is asked about one node at a time, so that
// the sizes of the others still count.
func homes(t *testing.T, p *rollout.Policy, fleet string) string {
	t.Helper()
	var list []string
	for i := range nodes(fleet) {
		all := nodes(fleet)
		all[i].Facts.Complete = true
		status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Policy: p, Nodes: all, Now: now})
		for name, c := range status.CompartmentStatuses {
			if c.Completed == 1 {
				list = append(list, all[i].Name+":"+name)
			}
		}
	}
	return strings.Join(list, " ")
}

func TestCompartments(t *testing.T) {
	const standard = "default: {budget: {percent: 100}, strategy: {fixed: {}}}\ncompartments:\n"
	for _, c := range []struct{ name, spec, nodes, want string }{
		{
			"by label, the rest in the default", standard + "- {name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}}",
			"a tier=gpu; b tier=cpu; c", "a:gpu b:__default__ c:__default__",
		},
		{
			"by expressions", standard +
				"- {name: some, selector: {matchExpressions: [{key: tier, operator: In, values: [gpu, tpu]}]}, budget: {count: 1}}\n" +
				"- {name: none, selector: {matchExpressions: [{key: tier, operator: DoesNotExist}, {key: zone, operator: Exists}]}, budget: {count: 1}}",
			"a tier=gpu; b tier=tpu; c tier=cpu zone=x; d zone=x; e", "a:some b:some c:__default__ d:none e:__default__",
		},
		{
			"an empty selector selects all", standard + "- {name: all, selector: {}, budget: {count: 1}}",
			"a tier=gpu; b", "a:all b:all",
		},
		{
			"overlap: fixed before linear before exponential, whatever the ceilings", standard +
				"- {name: a-exponential, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}, strategy: {exponential: {}}}\n" +
				"- {name: b-linear, selector: {matchLabels: {zone: x}}, budget: {count: 2}, strategy: {linear: {}}}\n" +
				"- {name: c-fixed, selector: {matchLabels: {zone: x, tier: gpu}}, budget: {count: 9}, strategy: {fixed: {}}}",
			"a tier=gpu zone=x; b tier=gpu; c zone=x; d tier=cpu zone=x", "a:c-fixed b:a-exponential c:b-linear d:b-linear",
		},
		{
			"overlap: an inherited strategy counts as the default's", standard +
				"- {name: a, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}, strategy: {linear: {}}}\n" +
				"- {name: b, selector: {matchLabels: {zone: x}}, budget: {count: 9}}",
			"n tier=gpu zone=x", "n:b",
		},
		{
			"overlap: the smaller ceiling", standard +
				"- {name: a, selector: {matchLabels: {tier: gpu}}, budget: {count: 3}}\n" +
				"- {name: b, selector: {matchLabels: {zone: x}}, budget: {count: 2}}",
			"n tier=gpu zone=x; m tier=gpu", "n:b m:a",
		},
		{
			"overlap: the ceiling of a percentage is that of all nodes that the selector matches", standard +
				"- {name: a, selector: {matchLabels: {tier: gpu}}, budget: {percent: 50}}\n" + // matches 6: 3
				"- {name: b, selector: {matchLabels: {zone: x}}, budget: {count: 2}}",
			"n tier=gpu zone=x; g1 tier=gpu; g2 tier=gpu; g3 tier=gpu; g4 tier=gpu; g5 tier=gpu",
			"n:b g1:a g2:a g3:a g4:a g5:a",
		},
		{
			"the same with fewer nodes", standard +
				"- {name: a, selector: {matchLabels: {tier: gpu}}, budget: {percent: 50}}\n" + // matches 2: 1
				"- {name: b, selector: {matchLabels: {zone: x}}, budget: {count: 2}}",
			"n tier=gpu zone=x; g1 tier=gpu", "n:a g1:a",
		},
		{
			"overlap: in the end the name", standard +
				"- {name: b, selector: {matchLabels: {tier: gpu}}, budget: {count: 2}}\n" +
				"- {name: a, selector: {matchLabels: {zone: x}}, budget: {count: 2}}",
			"n tier=gpu zone=x", "n:a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := homes(t, policy(t, c.spec), c.nodes); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// zones is a policy with one compartment per zone.
func zones(n int) string {
	var b strings.Builder
	b.WriteString("default: {budget: {count: 1}, strategy: {fixed: {}}}\ncompartments:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {name: c%d, selector: {matchLabels: {zone: z%d}}, budget: {count: 1}}\n", i, i)
	}
	return b.String()
}

func TestSixtyFourCompartments(t *testing.T) {
	all := nodes("rest")
	for i := range 64 {
		all = append(all, nodes(fmt.Sprintf("n%d zone=z%d", i, i))...)
	}
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Policy: policy(t, zones(64)), Nodes: all, Now: now})
	if len(status.Permits) != 65 || len(status.CompartmentStatuses) != 65 {
		t.Fatalf("%d permits in %d compartments, want one in each of 65", len(status.Permits), len(status.CompartmentStatuses))
	}
	for name, c := range status.CompartmentStatuses {
		if c.Matched != 1 {
			t.Errorf("%s has %d nodes, want 1", name, c.Matched)
		}
	}
}

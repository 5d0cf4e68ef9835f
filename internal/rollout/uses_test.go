package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

const twoPools = `
default: {budget: {percent: 100}, strategy: {fixed: {}}}
compartments:
- {name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}}
- {name: west, selector: {matchLabels: {zone: west}}, budget: {percent: 50}}
`

// policyStatus is the status of a policy for Skyhooks with fleets, by their names.
func policyStatus(t *testing.T, spec string, fleets ...string) v1alpha1.DeploymentPolicyStatus {
	t.Helper()
	of := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful", Generation: generation}}
	if err := yaml.UnmarshalStrict([]byte(spec), &of.Spec); err != nil {
		t.Fatal(err)
	}
	policy, invalid := rollout.PreparePolicy(of)
	message := ""
	if invalid != nil {
		message = invalid.Error()
	}
	var uses []rollout.Use
	for _, f := range fleets {
		name, fleet, _ := strings.Cut(f, ":")
		uses = append(uses, rollout.Use{Skyhook: name, Nodes: nodes(fleet)})
	}
	return rollout.PolicyStatus(of, policy, message, uses, metav1.NewTime(now))
}

func TestPolicyStatus(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		fleets     []string
		usedBy     string
		nodes      int
		list       string
		// conditions are their types, and words of their messages.
		conditions string
	}{
		{"not used", twoPools, nil, "", 0, "gpu:0, west:0, __default__:0", ""},
		{"used without nodes", twoPools, []string{"a:"}, "a", 0, "gpu:0, west:0, __default__:0", ""},
		{
			"every compartment has nodes", twoPools,
			[]string{"a: n1 tier=gpu; n2 zone=west; n3; n4"},
			"a", 4,
			"gpu:1, west:1, __default__:2", "",
		},
		{
			"Skyhooks share nodes", twoPools,
			[]string{"b: n1 tier=gpu; n2 zone=west", "a: n1 tier=gpu; n3 zone=west"},
			"a b", 3,
			"gpu:1, west:2, __default__:0", "",
		},
		{
			"the most careful compartment has the node", twoPools,
			[]string{"a: n1 tier=gpu zone=west; n2 zone=west; n3 zone=west"},
			"a", 3,
			"gpu:1, west:2, __default__:0", "",
		},
		{
			// Half of four nodes is more than one, half of two is not, and then the name decides.
			"a node is in another compartment for another Skyhook", strings.Replace(twoPools, "gpu, sel", "zzz, sel", 1),
			[]string{"a: n1 tier=gpu zone=west; n2 zone=west; n3 zone=west; n4 zone=west", "b: n1 tier=gpu zone=west; n2 zone=west"},
			"a b", 4,
			"zzz:1, west:4, __default__:0", "",
		},
		{
			"a compartment without nodes", twoPools,
			[]string{"a: n1 tier=gpu; n2"},
			"a", 2, "gpu:1, west:0, __default__:1",
			"CompartmentEmpty: none of the 2 nodes belongs to compartment west:",
		},
		{
			"a Skyhook that no compartment matches", twoPools,
			[]string{"a: n1 tier=gpu; n2 zone=west", "b: n3; n4"},
			"a b", 4,
			"gpu:1, west:1, __default__:2", "CompartmentsUnmatched: no compartment matches a node of Skyhook b,",
		},
		{
			"no Skyhook is matched", twoPools,
			[]string{"a: n1", "b: n2", "c:"},
			"a b c", 2, "gpu:0, west:0, __default__:2",
			"CompartmentsUnmatched: no compartment matches a node of Skyhooks a, b,",
		},
		{
			"without compartments", "default: {budget: {count: 1}, strategy: {fixed: {}}}",
			[]string{"a: n1; n2"},
			"a", 2,
			"__default__:2", "",
		},
		{
			"a policy that cannot be used", "default: {budget: {count: 1}}",
			[]string{"a: n1"},
			"a", 1, "",
			"Stalled: spec.default.strategy",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := policyStatus(t, c.spec, c.fleets...)
			if u := strings.Join(got.UsedBy, " "); u != c.usedBy || got.Skyhooks != len(c.fleets) {
				t.Errorf("used by %d: %s", got.Skyhooks, u)
			}
			if got.Nodes != c.nodes || got.CompartmentList != c.list || got.ObservedGeneration != generation {
				t.Errorf("%d nodes, %s, generation %d", got.Nodes, got.CompartmentList, got.ObservedGeneration)
			}
			var list []string
			for _, x := range got.Compartments {
				list = append(list, fmt.Sprintf("%s:%d", x.Name, x.Nodes))
			}
			if l := strings.Join(list, ", "); l != c.list {
				t.Errorf("compartments %s", l)
			}
			var conditions []string
			for _, x := range got.Conditions {
				conditions = append(conditions, x.Type+": "+x.Message)
			}
			if all := strings.Join(conditions, "\n"); !strings.HasPrefix(all, c.conditions) || len(conditions) > 1 || c.conditions == "" && all != "" {
				t.Errorf("conditions %s", all)
			}
		})
	}
}

// TestPolicyStatusAgrees: what a policy says of the only Skyhook that uses it is what that Skyhook says itself.
func TestPolicyStatusAgrees(t *testing.T) {
	const fleet = "n1 tier=gpu zone=west; n2 zone=west; n3 zone=west; n4 zone=west; n5 tier=gpu; n6"
	plan := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Policy: policy(t, twoPools), Nodes: nodes(fleet), Now: now})
	for _, c := range policyStatus(t, twoPools, "a: "+fleet).Compartments {
		if want := plan.CompartmentStatuses[c.Name].Matched; c.Nodes != want {
			t.Errorf("compartment %s: %d nodes, and %d of the Skyhook", c.Name, c.Nodes, want)
		}
	}
}

// TestPolicyConditionsEnd: a condition keeps its time while it lasts, and goes with its cause.
func TestPolicyConditionsEnd(t *testing.T) {
	of, parsed := &v1alpha1.DeploymentPolicy{}, policy(t, twoPools)
	status := func(fleet string, after time.Duration) []metav1.Condition {
		uses := []rollout.Use{{Skyhook: "a", Nodes: nodes(fleet)}}
		of.Status = rollout.PolicyStatus(of, parsed, "", uses, metav1.NewTime(now.Add(after)))
		return of.Status.Conditions
	}
	status("n1", 0)
	if c := status("n1; n2", time.Hour); len(c) != 1 || !c[0].LastTransitionTime.Time.Equal(now) {
		t.Errorf("conditions %+v", c)
	}
	if c := status("n1 tier=gpu; n2 zone=west", 2*time.Hour); len(c) != 0 {
		t.Errorf("conditions %+v", c)
	}
}

// TestPolicyStatusIsBounded whatever the number of Skyhooks and the length of names.
func TestPolicyStatusIsBounded(t *testing.T) {
	spec := v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{Budget: v1alpha1.Budget{Count: new(1)}, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}}}
	for i := range 64 {
		spec.Compartments = append(spec.Compartments, v1alpha1.Compartment{
			Name: fmt.Sprintf("%0253d", i), Budget: v1alpha1.Budget{Count: new(1)},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": fmt.Sprint(i)}},
		})
	}
	raw, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	fleets := make([]string, 300)
	for i := range fleets {
		fleets[i] = fmt.Sprintf("skyhook-%03d: n%d tier=1; x%d", i, i, i)
	}
	got := policyStatus(t, string(raw), fleets...)
	if got.Skyhooks != 300 || len(got.UsedBy) != 100 || got.UsedBy[0] != "skyhook-000" {
		t.Errorf("used by %d, of which %d are named, first %s", got.Skyhooks, len(got.UsedBy), got.UsedBy[0])
	}
	if raw, err = yaml.Marshal(got); err != nil || len(raw) > 32<<10 || len(got.CompartmentList) > 512 {
		t.Errorf("%d bytes, %d in one line (%v)", len(raw), len(got.CompartmentList), err)
	}
	if len(got.Conditions) != 1 || len(got.Conditions[0].Message) > 1024 {
		t.Errorf("conditions %+v", got.Conditions)
	}
}

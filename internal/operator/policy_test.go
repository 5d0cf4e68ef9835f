//go:build integration

package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestPolicies(t *testing.T) {
	perform(t,
		play{name: "exponential batches below the ceiling", nodes: 9, act: exponentialBatches},
		play{name: "an edit takes effect", nodes: 4, act: editedPolicy},
		play{name: "missing, made, and gone again", nodes: 3, act: missingPolicy},
		play{name: "stopped by failures, and resumed", nodes: 4, act: stoppedRollout},
		play{name: "the policy tells what it applies to", nodes: 3, act: policyStatus},
		play{name: "a failing node does not hold up its batch", nodes: 3, act: failingNode},
	)
}

// paced creates a policy and a Skyhook under it with package fw, which fails for good with its first attempt.
func (s *scene) paced(budget v1alpha1.Budget, strategy v1alpha1.Strategy) *v1alpha1.Skyhook {
	s.t.Helper()
	s.policy(budget, strategy)
	fw := pkg("1.0.0", nil)
	fw.MaxRetries = new(int32(1))
	return s.create(map[string]v1alpha1.Package{"fw": fw}, s.underPolicy)
}

func (s *scene) underPolicy(x *v1alpha1.Skyhook) { x.Spec.DeploymentPolicy = s.name }

func (s *scene) policy(budget v1alpha1.Budget, strategy v1alpha1.Strategy) *v1alpha1.DeploymentPolicy {
	s.t.Helper()
	p := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: v1alpha1.DeploymentPolicySpec{
		Default: v1alpha1.PolicyDefault{Budget: budget, Strategy: strategy},
	}}
	s.must(s.client.Create(s.t.Context(), p))
	return p
}

func count(n int) v1alpha1.Budget { return v1alpha1.Budget{Count: new(n)} }

func fixed(n int) v1alpha1.Strategy {
	return v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{BatchRules: v1alpha1.BatchRules{InitialBatch: new(n)}}}
}

// permits waits until exactly n nodes hold a permit, and returns their names.
func (s *scene) permits(x *v1alpha1.Skyhook, n int) []string {
	s.t.Helper()
	x = s.until(x, fmt.Sprintf("%d permits", n), func(x *v1alpha1.Skyhook) bool { return len(x.Status.Permits) == n })
	var names []string
	for _, p := range x.Status.Permits {
		names = append(names, p.Node)
	}
	return names
}

// exponentialBatches: 1, 2 and 4 nodes would follow each other, but the ceiling is 3.
func exponentialBatches(s *scene) {
	stop := s.watchPermits(s.name, 3)
	x := s.paced(count(3), v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{
		BatchRules: v1alpha1.BatchRules{InitialBatch: new(1)}, GrowthFactor: new(2),
	}})
	x = s.untilStatus(x, v1alpha1.StatusComplete)
	if most := stop(); most != 3 {
		s.t.Errorf("at most %d nodes worked at the same time", most)
	}
	c := s.until(x, "the next rollout starts anew", func(x *v1alpha1.Skyhook) bool {
		b := x.Status.CompartmentStatuses["__default__"].BatchState
		return b != nil && b.CurrentBatch == 1 && len(x.Status.Permits) == 0
	}).Status.CompartmentStatuses["__default__"]
	if c.Matched != 9 || c.Ceiling != 3 || c.Strategy != "exponential" || c.NextBatchSize != 1 || c.ProgressPercent != 100 {
		s.t.Errorf("compartment is %+v", c)
	}
}

func editedPolicy(s *scene) {
	s.when("fw apply", goesOn)
	x := s.paced(count(1), fixed(1))
	s.permits(x, 1)
	var p v1alpha1.DeploymentPolicy
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: s.name}, &p))
	before := p.DeepCopy()
	p.Spec.Default.Budget, p.Spec.Default.Strategy = count(3), fixed(3)
	s.must(s.client.Patch(s.t.Context(), &p, client.MergeFrom(before)))
	s.until(x, "the new ceiling is shown", func(x *v1alpha1.Skyhook) bool { return x.Status.CompartmentStatuses["__default__"].Ceiling == 3 })
	s.release()
	s.untilStatus(x, v1alpha1.StatusComplete)
}

func missingPolicy(s *scene) {
	x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, s.underPolicy)
	x = s.untilStatus(x, v1alpha1.StatusBlocked)
	if m := s.condition(x, "DeploymentPolicyNotFound", "DeploymentPolicyNotFound"); !strings.Contains(m, s.name) || len(x.Status.Permits) != 0 {
		s.t.Errorf("message %q, permits %v", m, x.Status.Permits)
	}
	p := s.policy(count(1), fixed(1))
	x = s.untilStatus(x, v1alpha1.StatusComplete)
	s.must(s.client.Delete(s.t.Context(), p))
	x = s.untilStatus(x, v1alpha1.StatusBlocked)
	if x.Status.Nodes.Complete != 3 {
		s.t.Errorf("nodes %+v", x.Status.Nodes)
	}
	s.delete(x)
}

func stoppedRollout(s *scene) {
	s.when("fw apply", 1)
	strategy := fixed(1)
	strategy.Fixed.FailureThreshold, strategy.Fixed.SafetyLimit = new(2), new(100)
	x := s.paced(count(2), strategy)
	m := s.condition(x, "RolloutStopped", "FailureThreshold")
	failed := slices.DeleteFunc(slices.Clone(s.nodes), func(n string) bool { return !strings.Contains(m, n) })
	if len(failed) != 2 || !strings.Contains(m, "batch 2") {
		s.t.Errorf("the message names %v: %s", failed, m)
	}
	s.permits(x, 0)
	s.when("", 0)
	x = s.edit(x, func(x *v1alpha1.Skyhook) {
		metav1.SetMetaDataAnnotation(&x.ObjectMeta, "skyhook.nvidia.com/resume", "1")
	})
	s.until(x, "the others continue", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete == 2 })
	x = s.set(x, func(p *v1alpha1.Package) { p.Env = []corev1.EnvVar{{Name: "FIXED", Value: "1"}} })
	s.untilStatus(x, v1alpha1.StatusComplete)
}

func failingNode(s *scene) {
	bad := s.nodes[0]
	s.fails(bad)
	x := s.paced(count(1), fixed(1))
	x = s.until(x, "all but the failing node are complete", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Nodes.Complete == 2 && x.Status.Nodes.Erroring == 1 && len(x.Status.Permits) == 0
	})
	if x.Status.Status != v1alpha1.StatusErroring || x.Status.Attention[0].Node != bad {
		s.t.Errorf("status %s, attention %+v", x.Status.Status, x.Status.Attention)
	}
	s.fails("")
	x = s.set(x, func(p *v1alpha1.Package) { p.Env = []corev1.EnvVar{{Name: "FIXED", Value: "1"}} })
	s.untilStatus(x, v1alpha1.StatusComplete)
}

// policyStatus: labels of nodes, another policy and an edit show in the status of the policy.
func policyStatus(s *scene) {
	p := s.policy(count(1), fixed(1))
	tells := func(what string, skyhooks int, list string) {
		s.t.Helper()
		s.becomes(what, func() bool {
			s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(p), p))
			st := p.Status
			return st.Skyhooks == skyhooks && st.CompartmentList == list && st.ObservedGeneration == p.Generation
		})
	}
	tells("nobody uses it", 0, "__default__:0")
	x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, s.underPolicy)
	tells("a Skyhook uses it", 1, "__default__:3")
	before := p.DeepCopy()
	p.Spec.Compartments = []v1alpha1.Compartment{{
		Name: "canary", Budget: count(1), Selector: metav1.LabelSelector{MatchLabels: map[string]string{"canary": s.name}},
	}}
	s.must(s.client.Patch(s.t.Context(), p, client.MergeFrom(before)))
	tells("it has a compartment", 1, "canary:0, __default__:3")
	if c := p.Status.Conditions; len(c) != 1 || c[0].Type != v1alpha1.ConditionCompartmentsUnmatched || !strings.Contains(c[0].Message, x.Name) {
		s.t.Errorf("conditions %+v", c)
	}
	var n corev1.Node
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Name: s.nodes[0]}, &n))
	unlabelled := n.DeepCopy()
	metav1.SetMetaDataLabel(&n.ObjectMeta, "canary", s.name)
	s.must(s.client.Patch(s.t.Context(), &n, client.MergeFrom(unlabelled)))
	tells("a node moves", 1, "canary:1, __default__:2")
	if len(p.Status.Conditions) > 0 {
		s.t.Errorf("conditions %+v", p.Status.Conditions)
	}
	s.untilStatus(x, v1alpha1.StatusComplete)
	s.delete(x)
	tells("nobody uses it any more", 0, "canary:0, __default__:0")
}

package rollout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// size is what a status takes in the API server, in bytes.
func size(t *testing.T, status v1alpha1.SkyhookStatus) int {
	t.Helper()
	raw, err := json.MarshalIndent(map[string]any{"status": status}, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}

const sizeLimit = 128 << 10

// named has n nodes with names of the given length; every tenth fails, every tenth is held.
func named(n, length int) []rollout.Node {
	all := make([]rollout.Node, 0, n)
	for i := range n {
		node := rollout.Node{
			Name: fmt.Sprintf("n%0*d", length-1, i), Created: now, BootID: strings.Repeat("b", 36),
			Labels: map[string]string{"zone": fmt.Sprintf("z%d", i%64)},
		}
		switch i % 10 {
		case 3:
			node.Facts.FailedRun = true
			node.Failure = &record.Wait{Reason: "CreateContainerConfigError", Message: strings.Repeat("m", 1024), Since: metav1.NewTime(now)}
		case 7:
			node.Hold = rollout.HoldPolicyMissing(skyhook(0))
			node.Hold.Reason = v1alpha1.ReasonTaintNotTolerable
		}
		all = append(all, node)
	}
	return all
}

func TestStatusOfFiveThousandNodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy *rollout.Policy
	}{
		{"plain budget", nil},
		{"one compartment", policy(t, "default: {budget: {percent: 100}, strategy: {fixed: {initialBatch: 5000}}}")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Generation, s.Status.FirstRound = 100, 10
			status := rollout.Plan(rollout.Input{Skyhook: s, Policy: c.policy, Nodes: named(5000, 45), Now: now})
			if len(status.Permits) != rollout.MaxPermits {
				t.Fatalf("%d permits", len(status.Permits))
			}
			for i := range status.Permits {
				status.Permits[i].Revoked = c.policy != nil
			}
			if got := size(t, status); got >= sizeLimit {
				t.Errorf("the status has %d bytes; the limit is %d", got, sizeLimit)
			} else {
				t.Logf("%d bytes", got)
			}
		})
	}
}

// TestStatusIsAlwaysBounded: where names are long, fewer permits are given.
func TestStatusIsAlwaysBounded(t *testing.T) {
	var spec strings.Builder
	spec.WriteString("default: {budget: {percent: 100}, strategy: {fixed: {initialBatch: 5000, failureThreshold: 1, safetyLimit: 100}}}\ncompartments:\n")
	for i := range 64 {
		fmt.Fprintf(&spec, "- {name: %s%02d, selector: {matchLabels: {zone: z%d}}, budget: {percent: 100}}\n", strings.Repeat("c", 251), i, i)
	}
	s := skyhook(0)
	s.Generation, s.Status.NextOrder, s.Status.FirstRound = 1_000_000, 1_000_000, 1_000
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for i := range 128 {
		s.Spec.Packages[fmt.Sprintf("package-%02d-%s", i, strings.Repeat("p", 20))] = v1alpha1.Package{Version: "2026.11.21-rc.1"}
	}
	s.Spec.DeploymentPolicy = strings.Repeat("d", 253)
	p := policy(t, spec.String())
	all := named(10_000, 253)
	for i := range 20 { // reasons as long as they get
		all[10*i+7].Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{
			Reason: fmt.Sprintf("R%d%s", i, strings.Repeat("r", 1000)), Message: strings.Repeat("m", 1000),
		}}
	}
	in := rollout.Input{Skyhook: s, Policy: p, Nodes: all, Now: now}
	s.Status = rollout.Plan(in)
	given := map[string]bool{}
	for _, permit := range s.Status.Permits {
		given[permit.Node] = true
	}
	for i := range all { // all that got one fail, and stop their compartments
		if given[all[i].Name] {
			all[i].Facts.FailedRun, all[i].Facts.Failed, all[i].Facts.Begun, all[i].Failure = true, true, true, all[3].Failure
		}
	}
	s.Status = rollout.Plan(in)
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRolloutStopped) || !s.Status.Permits[0].Revoked {
		t.Error("nothing is stopped")
	}
	in.Policy, in.PolicyMissing = nil, true
	for _, status := range []v1alpha1.SkyhookStatus{s.Status, rollout.Plan(in)} {
		got := size(t, status)
		t.Logf("%d permits, %d bytes", len(status.Permits), got)
		if got >= sizeLimit || len(status.Permits) < 100 {
			t.Errorf("%d permits, %d bytes; the limit is %d", len(status.Permits), got, sizeLimit)
		}
	}
}

// TestDetailFits: the maps of a small fleet with many packages would not fit; the largest of them is left out then.
func TestDetailFits(t *testing.T) {
	for _, c := range []struct {
		nodes, packages int
		detailed        bool
	}{{10, 20, true}, {100, 2, true}, {rollout.DetailLimit, 1, false}, {rollout.DetailLimit, 20, false}} {
		all := named(c.nodes, 45)
		for i := range all {
			all[i].States = map[string]v1alpha1.PackageStatus{}
			for k := range c.packages {
				name := fmt.Sprintf("package-%02d", k)
				all[i].States[name+"|1.2.3"] = v1alpha1.PackageStatus{
					Name: name, Version: "1.2.3", Image: "registry.example.com/packages/" + name, Stage: v1alpha1.StagePostInterrupt, State: v1alpha1.StateInProgress,
				}
			}
		}
		status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Nodes: all, Now: now})
		if got := size(t, status); got >= sizeLimit {
			t.Errorf("%d nodes with %d packages: %d bytes", c.nodes, c.packages, got)
		}
		if len(status.NodeStatus) != c.nodes || (len(status.NodeState) == c.nodes) != c.detailed || (len(status.NodeState) == 0) == c.detailed {
			t.Errorf("%d nodes with %d packages: states of %d nodes, statuses of %d", c.nodes, c.packages, len(status.NodeState), len(status.NodeStatus))
		}
	}
}

// working is a fleet in the middle of a rollout and its Skyhook: some give their permit back in each pass.
func working(b *testing.B, n int, p *rollout.Policy) rollout.Input {
	b.Helper()
	all := named(n, 45)
	for i := range all {
		all[i].Created = now.Add(-time.Duration(i*7919%n) * time.Second)
		all[i].Facts.Complete = i%3 == 0
	}
	s := skyhook(500)
	if p != nil {
		s = skyhook(0)
		s.Spec.DeploymentPolicy = "paced"
	}
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for i := range 5 {
		s.Spec.Packages[fmt.Sprintf("package-%d", i)] = v1alpha1.Package{Version: "1.2.3"}
	}
	in := rollout.Input{Skyhook: s, Policy: p, Nodes: all, Now: now}
	s.Status = rollout.Plan(in)
	done := map[string]string{}
	for i, p := range s.Status.Permits {
		if i%10 < 8 {
			done[p.Node] = p.Token()
		}
	}
	for i := range all {
		if token, ok := done[all[i].Name]; ok {
			all[i].FinishedPermit, all[i].Facts.Complete = token, true
		}
	}
	return in
}

func benchmarkPlan(b *testing.B, n int) {
	for _, c := range []struct {
		name   string
		policy *rollout.Policy
	}{
		{"budget", nil},
		{"policy", policy(b, `
default: {budget: {percent: 10}, strategy: {fixed: {initialBatch: 1000}}}
compartments:
- {name: a, selector: {matchLabels: {zone: z1}}, budget: {percent: 20}, strategy: {linear: {initialBatch: 20}}}
- {name: b, selector: {matchExpressions: [{key: zone, operator: In, values: [z2, z3, z4, z5, z6]}]}, budget: {count: 50}, strategy: {exponential: {initialBatch: 20}}}
- {name: c, selector: {matchExpressions: [{key: zone, operator: NotIn, values: [z1, z2, z7, z8, z9]}]}, budget: {count: 300}}`)},
		{"64-compartments", policy(b, strings.ReplaceAll(zones(64), "count: 1", "percent: 20"))},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := working(b, n, c.policy)
			b.ReportAllocs()
			for b.Loop() {
				rollout.Plan(in)
			}
		})
	}
}

func BenchmarkPlan1000(b *testing.B) { benchmarkPlan(b, 1_000) }

func BenchmarkPlan10000(b *testing.B) { benchmarkPlan(b, 10_000) }

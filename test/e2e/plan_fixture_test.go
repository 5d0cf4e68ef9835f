//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// rehearsal is what the plan of a manifest says of its nodes, and all that happens from then on.
type rehearsal struct {
	name     string
	plan     []forecast.Node
	skyhooks *versions[*v1alpha1.Skyhook]
	pods     *versions[*corev1.Pod]
	nodes    *history
}

func rehearse(t *testing.T, name, manifest string) *rehearsal {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(forOwnNodes(t, manifest)), 0o600); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Nodes    []forecast.Node
		Skyhooks []struct{ Status v1alpha1.Status }
	}
	out := mustPlugin(t, "plan", "-f", file, "-o", "json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(answer.Skyhooks) != 1 || answer.Skyhooks[0].Status != v1alpha1.StatusComplete {
		t.Errorf("the plan does not end complete:\n%s", mustPlugin(t, "plan", "-f", file))
	}
	return &rehearsal{
		name: name, plan: answer.Nodes, skyhooks: watchAll[*v1alpha1.Skyhook](t, &v1alpha1.SkyhookList{}),
		pods: watchAll[*corev1.Pod](t, &corev1.PodList{}), nodes: watchNodes(t),
	}
}

// came checks that all came as planned, with these stages on every node, and with the eviction of pods whose names begin
// like this: nodes in their order and batches, stages, interrupts, cordons and evictions.
func (r *rehearsal) came(t *testing.T, stages string, evicted ...string) {
	t.Helper()
	r.skyhooks.catchUp(t, getSkyhook(t, r.name))
	var planned, happened []string
	for i := range r.plan {
		n := &r.plan[i]
		var steps []string
		for _, s := range n.Steps {
			steps = append(steps, step(s.Stage, s.Interrupt))
		}
		if got := strings.Join(steps, " "); got != stages {
			t.Errorf("node %s: planned %q, want %q", n.Node, got, stages)
		}
		planned = append(planned, act(n.Node, n.Batch, steps, n.Cordoned, workloads(n.Evicted)))
	}
	batches := r.batches()
	for _, node := range r.order() {
		r.nodes.catchUp(t, getNode(t, node))
		happened = append(happened, act(node, batches[node], r.steps(node), r.cordoned(node), r.evicted(node)))
	}
	if !slices.Equal(planned, happened) {
		t.Errorf("planned:\n%s\nhappened:\n%s", strings.Join(planned, "\n"), strings.Join(happened, "\n"))
	}
	all := strings.Join(planned, "\n")
	for _, pod := range evicted {
		if !strings.Contains(all, pod) {
			t.Errorf("the plan has no eviction of %s…:\n%s", pod, all)
		}
	}
}

// act is what happens on one node, as one line.
func act(node string, batch int, steps []string, cordoned bool, evicted []string) string {
	slices.Sort(evicted)
	return fmt.Sprintf("%s in batch %d: %s; cordoned: %t; evicted: %v", node, batch, strings.Join(steps, " "), cordoned, evicted)
}

func step(stage v1alpha1.Stage, interrupt v1alpha1.InterruptType) string {
	if interrupt == "" {
		return string(stage)
	}
	return string(stage) + ":" + string(interrupt)
}

// workloads leaves out the operator's own pods: it depends on which of them leads whether they are evicted.
func workloads(pods []string) []string {
	return slices.DeleteFunc(slices.Clone(pods), func(pod string) bool { return strings.HasPrefix(pod, "skyhook/") })
}

// order is in which order nodes got their permits.
func (r *rehearsal) order() []string {
	var nodes []string
	r.skyhooks.each(func(s *v1alpha1.Skyhook) {
		if s.Name != r.name {
			return
		}
		permits := slices.Clone(s.Status.Permits)
		slices.SortFunc(permits, func(a, b v1alpha1.Permit) int { return int(a.Order - b.Order) })
		for _, p := range permits {
			if !slices.Contains(nodes, p.Node) {
				nodes = append(nodes, p.Node)
			}
		}
	})
	return nodes
}

// batches are the ones in which nodes got their permits; 0 without a policy.
func (r *rehearsal) batches() map[string]int {
	batches := map[string]int{}
	r.skyhooks.each(func(s *v1alpha1.Skyhook) {
		b := s.Status.CompartmentStatuses["__default__"].BatchState
		if s.Name != r.name || s.Spec.DeploymentPolicy == "" || b == nil {
			return
		}
		for _, node := range holders(s) {
			if batches[node] == 0 {
				batches[node] = b.CurrentBatch
			}
		}
	})
	return batches
}

// steps are the stages whose pods ran on a node.
func (r *rehearsal) steps(node string) []string {
	var steps []string
	r.pods.each(func(p *corev1.Pod) {
		if p.Spec.NodeName != node || p.Labels[v1alpha1.LabelName] != r.name {
			return
		}
		seen, err := workload.Observe(p)
		if err != nil {
			return
		}
		s := string(seen.Stage)
		if record.IsInterrupt(seen.Stage) {
			s = step(seen.Stage, r.interrupt(node))
		}
		if !slices.Contains(steps, s) {
			steps = append(steps, s)
		}
	})
	return steps
}

// interrupt is the last one that was in flight on a node.
func (r *rehearsal) interrupt(node string) (last v1alpha1.InterruptType) {
	r.nodes.each(func(n *corev1.Node) {
		if f := record.ReadInterrupt(n.Annotations); n.Name == node && f.OwnedBy(r.name) {
			last = f.Type
		}
	})
	return last
}

func (r *rehearsal) cordoned(node string) bool {
	was := false
	r.nodes.each(func(n *corev1.Node) {
		was = was || n.Name == node && n.Annotations[v1alpha1.AnnotationCordonPrefix+r.name] == "true"
	})
	return was
}

// evicted are the pods that somebody evicted from a node.
func (r *rehearsal) evicted(node string) []string {
	var pods []string
	r.pods.each(func(p *corev1.Pod) {
		name := p.Namespace + "/" + p.Name
		target := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == "EvictionByEvictionAPI"
		})
		if p.Spec.NodeName == node && target && !slices.Contains(pods, name) {
			pods = append(pods, name)
		}
	})
	return workloads(pods)
}

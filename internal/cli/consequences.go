package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// tellConsequences says what packages that run again do to nodes, before anybody is asked. Where that cannot be told, the
// question stands all the same: the command may be what brings a node back.
func (s *session) tellConsequences(ctx context.Context, skyhook string, nodes []onNode, change nodeChange, batches bool) {
	v, err := s.read.look(ctx, "")
	if err == nil {
		var f forecast.Forecast
		if f, err = v.afterChange(skyhook, nodes, change, batches, s.now()); err == nil {
			for _, line := range consequences(f, skyhook, nodes) {
				fmt.Fprintln(s.out, packagefile.PrintableLines(line))
			}
			return
		}
	}
	fmt.Fprintf(s.err, "Warning: what follows cannot be told, and nodes may be drained and rebooted: %v\n", err)
}

// afterChange looks ahead from a copy of the cluster in which nodes are changed as the command would change them.
func (v *view) afterChange(skyhook string, nodes []onNode, change nodeChange, batches bool, now time.Time) (forecast.Forecast, error) {
	changed := map[string]bool{}
	for i := range nodes {
		changed[nodes[i].node.Name] = true
	}
	v.Nodes = slices.Clone(v.Nodes)
	for i := range v.Nodes {
		if n := &v.Nodes[i]; changed[n.Name] {
			*n = *n.DeepCopy()
			if p, err := change(n); err == nil { // the command itself tells of the others
				patched(n, p)
			}
		}
	}
	if sk := named(v.Skyhooks, skyhook); sk != nil && batches {
		sk.Status = rollout.Restart(sk.Status)
	}
	return forecast.Run(v.Snapshot, v.ahead(now, farAhead))
}

// patched carries out on a copy of a node what the API server would do with a patch.
func patched(n *corev1.Node, p record.Patch) {
	n.Annotations, n.Labels = patchedMap(n.Annotations, p.Annotations), patchedMap(n.Labels, p.Labels)
}

func patchedMap(have map[string]string, changes map[string]*string) map[string]string {
	all := joined(have, nil)
	for key, value := range changes {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = *value
		}
	}
	return all
}

// felt is what workloads feel of an interrupt, in the order in which it is told.
var felt = []string{"drained", "rebooted", "services restarted"}

// consequences are what happens on these nodes that workloads feel, in sentences.
func consequences(f forecast.Forecast, skyhook string, nodes []onNode) []string {
	touched, evicted, ends := map[string][]string{}, []string{}, f.Start
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Skyhook != skyhook || !slices.ContainsFunc(nodes, func(o onNode) bool { return o.node.Name == n.Node }) {
			continue
		}
		evicted = append(evicted, n.Evicted...)
		for _, what := range feltOn(n) {
			touched[what] = append(touched[what], n.Node)
		}
		if len(n.Steps) > 0 && n.Steps[len(n.Steps)-1].End.After(ends) {
			ends = n.Steps[len(n.Steps)-1].End
		}
	}
	if len(touched) == 0 {
		return []string{"Consequences: no node is drained or interrupted."}
	}
	out := []string{"Consequences, within the budget, in about " + ago(ends, f.Start) + ":"}
	for _, what := range felt {
		if on := touched[what]; len(on) > 0 {
			out = append(out, fmt.Sprintf("  - %s %s: %s", text.Count(len(on), "node"), what, text.First(on, fewNodes)))
		}
	}
	if len(evicted) > 0 {
		out = append(out, fmt.Sprintf("  - %s evicted: %s", text.Count(len(evicted), "pod"), text.First(evicted, fewNodes)))
	}
	return out
}

// feltOn is what workloads feel on one node.
func feltOn(n *forecast.Node) []string {
	var all []string
	if n.Cordoned || n.Disturbed() {
		all = append(all, felt[0])
	}
	is := func(types ...v1alpha1.InterruptType) bool {
		return slices.ContainsFunc(n.Steps, func(s forecast.Step) bool { return slices.Contains(types, s.Interrupt) })
	}
	if is(v1alpha1.InterruptReboot) {
		all = append(all, felt[1])
	}
	if is(v1alpha1.InterruptService, v1alpha1.InterruptRestartAllServices) {
		all = append(all, felt[2])
	}
	return all
}

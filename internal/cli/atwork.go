package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// running is a stage whose pods run, on all nodes where they do.
type running struct {
	skyhook, pkg, version string
	stage                 v1alpha1.Stage
	nodes                 []string
	since                 time.Time
}

// atWork are the stages that run: nothing holds them, but a script may hang. What a cause tells of is not among them.
func (e explainer) atWork(v *view, causes []cause, skyhook, node string) []running {
	ready := map[string]bool{} // on other nodes it may be over
	for i := range v.Nodes {
		ready[v.Nodes[i].Name] = state.Ready(&v.Nodes[i])
	}
	var all []running
	for i := range v.Pods {
		p := &v.Pods[i]
		seen, err := workload.Observe(p)
		ours := err == nil && p.Namespace == e.namespace && metav1.GetControllerOf(p) != nil && p.Labels[v1alpha1.LabelName] != ""
		if !ours || p.DeletionTimestamp != nil || workload.Ended(p) || !ready[p.Spec.NodeName] {
			continue
		}
		r := running{
			skyhook: p.Labels[v1alpha1.LabelName], pkg: seen.Package, version: seen.Version, stage: seen.Stage,
			nodes: []string{p.Spec.NodeName}, since: p.CreationTimestamp.Time,
		}
		other := skyhook != "" && r.skyhook != skyhook || node != "" && p.Spec.NodeName != node
		if other || slices.ContainsFunc(causes, r.named) {
			continue
		}
		k := slices.IndexFunc(all, r.same)
		if k < 0 {
			all = append(all, r)
			continue
		}
		all[k].nodes = append(all[k].nodes, p.Spec.NodeName)
		if r.since.Before(all[k].since) {
			all[k].since = r.since
		}
	}
	slices.SortFunc(all, func(a, b running) int {
		return cmp.Or(cmp.Compare(a.skyhook, b.skyhook), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.version, b.version), cmp.Compare(a.stage, b.stage))
	})
	return all
}

// named reports whether a cause is about the package on the one node of a stage.
func (r *running) named(c cause) bool {
	return c.Skyhook == r.skyhook && c.Package == r.pkg && slices.Contains(c.Nodes, r.nodes[0])
}

func (r *running) same(o running) bool {
	return o.skyhook == r.skyhook && o.pkg == r.pkg && o.version == r.version && o.stage == r.stage
}

// line says for how long the stage has run, the longest of its pods, and how to read what it prints.
func (r *running) line(to target, now time.Time) string {
	logs := fmt.Sprintf("`kubectl skyhook logs %s --package %s --stage %s --tail 20`", r.skyhook, r.pkg, r.stage)
	return fmt.Sprintf("%s on %s, package %s: %s of %s has run for %s; %s prints what it says\n",
		r.skyhook, text.Names(r.nodes), r.pkg, r.stage, r.version, ago(now, r.since), to.addressed(logs))
}

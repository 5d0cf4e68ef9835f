package skyhook

import (
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// remains are the package versions that the spec forgot too early, by the keys of their entries.
type remains map[string]admission.Installed

// uninstalls notes how far a node is with what has to go, and what should have gone before the spec changed.
func (p *pass) uninstalls(out *rollout.Node, v *rollout.View) {
	out.Abandoned, out.Recorded = p.target.Abandoned[out.Name], v.Recorded
	out.Uninstalling, out.UninstallFailure = v.Uninstalling, v.UninstallFailure
	for _, l := range v.Removals {
		p.uninstalling[l.Package.Definition] = l
	}
	for _, name := range v.Installed {
		p.in.Installed[name] = true
	}
	for _, name := range v.Complete {
		p.complete[name]++
	}
	for i, e := range v.Stays {
		r, known := p.remains[e.Key()]
		if !known {
			r = admission.Installed{Package: e.Name, Version: e.Version, Enabled: true}
			if u := v.Kept[i].Uninstall; u != nil {
				r.WhenRemoved = u.WhenRemoved
			}
		}
		r.Nodes = append(r.Nodes, out.Name)
		p.remains[e.Key()] = r
	}
}

// removal tells which packages the spec forgot too early. The webhook refuses such a spec; without it people see this.
func (r remains) removal(s *v1alpha1.Skyhook) string {
	if len(r) == 0 || s.DeletionTimestamp != nil {
		return ""
	}
	list := make([]admission.Installed, 0, len(r))
	for _, key := range slices.Sorted(maps.Keys(r)) {
		one := r[key]
		slices.Sort(one.Nodes)
		list = append(list, one)
	}
	return admission.Join(admission.Guard(s, list))
}

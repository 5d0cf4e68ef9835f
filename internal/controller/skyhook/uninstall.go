package skyhook

import (
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// remains are the package versions that the spec forgot too early, by the keys of their entries.
type remains map[string]admission.Installed

// uninstalls notes how far a node is with what has to go, and what should have gone before the spec changed.
func (g *reading) uninstalls(out *rollout.Node, v *rollout.View) {
	out.Abandoned, out.Recorded = g.target.Abandoned[out.Name], v.Recorded
	out.Uninstalling, out.UninstallFailure = v.Uninstalling, v.UninstallFailure
	for _, l := range v.Removals {
		g.uninstalling[l.Package.Definition] = l
	}
	for _, name := range v.Installed {
		g.installed[name]++
	}
	for _, name := range v.Complete {
		g.complete[name]++
	}
	for i, e := range v.Stays {
		r, known := g.remains[e.Key()]
		if !known {
			r = admission.Installed{Package: e.Name, Version: e.Version, Enabled: true}
			if u := v.Kept[i].Uninstall; u != nil {
				r.WhenRemoved = u.WhenRemoved
			}
		}
		r.Nodes = append(r.Nodes, out.Name)
		g.remains[e.Key()] = r
	}
}

// removal tells which packages the spec forgot too early. The webhook refuses such a spec; without it people see this.
func (g *reading) removal() string {
	if len(g.remains) == 0 || g.skyhook.DeletionTimestamp != nil {
		return ""
	}
	list := make([]admission.Installed, 0, len(g.remains))
	for _, key := range slices.Sorted(maps.Keys(g.remains)) {
		r := g.remains[key]
		slices.Sort(r.Nodes)
		list = append(list, r)
	}
	return admission.Join(admission.Guard(g.skyhook, list))
}

func (g *reading) counts(nodes int) (installed, everywhere map[string]bool) {
	installed, everywhere = map[string]bool{}, map[string]bool{}
	for name := range g.installed {
		installed[name] = true
	}
	for name, n := range g.complete {
		everywhere[name] = n == nodes
	}
	return installed, everywhere
}

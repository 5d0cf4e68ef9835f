package skyhook

import (
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// remains are the package versions that the spec forgot too early, by the keys of their entries.
type remains map[string]admission.Installed

// uninstalls reads how far a node is with what has to go, and what should have gone before the spec changed.
func (g *reading) uninstalls(out *rollout.Node, w lifecycle.Wanted, n record.Node) {
	out.Abandoned = w.Abandoned
	if w.Abandoned {
		out.Recorded = packageNames(n)
	}
	g.count(w, n)
	for _, l := range w.Removals(n) {
		if !l.Missing {
			g.uninstalling[l.Package.Definition] = l
		}
	}
	for _, e := range lifecycle.Uninstalling(w, n) {
		out.Uninstalling = true
		if e.State == v1alpha1.StateErroring && out.UninstallFailure == nil {
			out.UninstallFailure = failureOf(e)
		}
	}
	entries, packages := w.Stays(n)
	for i, e := range entries {
		r, known := g.remains[e.Key()]
		if !known {
			r = admission.Installed{Package: e.Name, Version: e.Version, Enabled: true}
			if u := packages[i].Uninstall; u != nil {
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

func packageNames(n record.Node) string {
	return strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(n.Packages)), ", "), "|", " ")
}

func asksForUninstall(s *v1alpha1.Skyhook) bool {
	for _, pkg := range s.Spec.Packages {
		if pkg.Uninstall.Requested() {
			return true
		}
	}
	return false
}

// count notes which packages are installed and complete on a node, while an uninstall is asked for.
func (g *reading) count(w lifecycle.Wanted, n record.Node) {
	if g.installed == nil {
		return
	}
	for _, e := range n.Packages {
		g.installed[e.Name]++
	}
	for name := range w.Packages {
		if w.PackageComplete(n, name) {
			g.complete[name]++
		}
	}
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

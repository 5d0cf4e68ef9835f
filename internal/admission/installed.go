package admission

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// Abandoned returns the names of the nodes that the Skyhook's annotation abandons.
func Abandoned(s *v1alpha1.Skyhook) map[string]bool {
	nodes := map[string]bool{}
	for name := range strings.SplitSeq(s.Annotations[v1alpha1.AnnotationAbandonUninstall], ",") {
		if name = strings.TrimSpace(name); name != "" {
			nodes[name] = true
		}
	}
	return nodes
}

// Installed is one version of a package that nodes still have something of, with the policy that holds for it there.
type Installed struct {
	Package, Version string
	// Enabled says that it can be uninstalled. The guards do not look at others.
	Enabled     bool
	WhenRemoved v1alpha1.WhenRemoved
	// Uninstalling says that the user asked for its uninstall by uninstall.apply.
	Uninstalling bool
	// Nodes whose record has an entry of it, sorted by name, but for those where nothing of it ever started. Abandoned
	// nodes are left out.
	Nodes []string
}

// Find returns what the records of nodes, by node name, have of the given packages, sorted by name and version. The
// policies are those of s.
func Find(s *v1alpha1.Skyhook, packages []string, nodes iter.Seq2[string, record.Node]) []Installed {
	found := map[string]*Installed{}
	for node, r := range nodes {
		for key, e := range r.Packages {
			if !slices.Contains(packages, e.Name) || e.NeverStarted() {
				continue
			}
			if found[key] == nil {
				found[key] = newInstalled(s, e.Name, e.Version)
			}
			found[key].Nodes = append(found[key].Nodes, node)
		}
	}
	list := make([]Installed, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[key].Nodes)
		list = append(list, *found[key])
	}
	slices.SortStableFunc(list, func(a, b Installed) int { return cmp.Compare(a.Package, b.Package) })
	return list
}

func newInstalled(s *v1alpha1.Skyhook, name, its string) *Installed {
	i := &Installed{Package: name, Version: its, Enabled: capability.Enabled(s, name)}
	if u := s.Spec.Packages[name].Uninstall; u != nil {
		i.WhenRemoved, i.Uninstalling = u.WhenRemoved, u.Apply
	}
	return i
}

// Affected returns the packages for which a change of a Skyhook has to be judged by what is on its nodes: they leave
// the spec, change their version, or are to be uninstalled from now on. Sorted; old is nil for a new Skyhook.
func Affected(old, s *v1alpha1.Skyhook) []string {
	var names []string
	for name, pkg := range s.Spec.Packages {
		before, known := packageOf(old, name)
		if known && !version.Same(before.Version, pkg.Version) || pkg.Uninstall.Requested() && !before.Uninstall.Requested() {
			names = append(names, name)
		}
	}
	if old != nil {
		for name := range old.Spec.Packages {
			if _, stays := s.Spec.Packages[name]; !stays {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// packageOf returns the package of a Skyhook that may be nil.
func packageOf(s *v1alpha1.Skyhook, name string) (v1alpha1.Package, bool) {
	if s == nil {
		return v1alpha1.Package{}, false
	}
	pkg, ok := s.Spec.Packages[name]
	return pkg, ok
}

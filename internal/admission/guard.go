package admission

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// Guard returns what keeps the spec of a Skyhook from taking effect as long as nodes have what they have, sorted by
// field: packages that can be uninstalled must be, before the spec forgets how. installed has the policies that held
// before the spec changed.
func Guard(s *v1alpha1.Skyhook, installed []Installed) []Problem {
	c := &checker{}
	for _, i := range installed {
		if i.Enabled && len(i.Nodes) > 0 {
			c.guard(s, i)
		}
	}
	return c.sorted()
}

func (c *checker) guard(s *v1alpha1.Skyhook, i Installed) {
	pkg, stays := s.Spec.Packages[i.Package]
	field := "spec.packages." + i.Package
	switch {
	case !stays:
		c.removal(field, i)
	case version.Same(pkg.Version, i.Version):
	case i.Uninstalling:
		c.add(field+".version", "is changed to %s while %s is being uninstalled and still on %s; "+
			"change it back and wait until it is gone from every node, or cancel the uninstall with uninstall.apply=false",
			pkg.Version, i.Version, text.Nodes(i.Nodes))
	case version.Older(pkg.Version, i.Version) && i.WhenRemoved != v1alpha1.WhenRemovedUninstall &&
		!uninstallsWhenRemoved(pkg):
		c.add(field+".version", "is lowered to %s, but %s can be uninstalled and is on %s; set uninstall.apply=true first "+
			"and lower the version when it is gone from every node, or set uninstall.whenRemoved=Uninstall",
			pkg.Version, i.Version, text.Nodes(i.Nodes))
	}
}

func (c *checker) removal(field string, i Installed) {
	if i.WhenRemoved == v1alpha1.WhenRemovedUninstall {
		return
	}
	const reason = "is removed from the spec, but version %s can be uninstalled (uninstall.enabled=true) " +
		"and is still on %s; "
	if i.Uninstalling {
		c.add(field, reason+"its uninstall is not finished: keep the package until it is gone from every node",
			i.Version, text.Nodes(i.Nodes))
		return
	}
	c.add(field, reason+"keep the package and set uninstall.apply=true until it is gone from every node, or set "+
		"uninstall.whenRemoved=Uninstall first; to leave its files on the nodes, set uninstall.enabled=false first",
		i.Version, text.Nodes(i.Nodes))
}

func uninstallsWhenRemoved(pkg v1alpha1.Package) bool {
	return pkg.Uninstall != nil && pkg.Uninstall.WhenRemoved == v1alpha1.WhenRemovedUninstall
}

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Warnings returns what a user should know about a change that is allowed, one sentence each. old is nil for a new
// Skyhook; installed is what nodes have of the Affected packages.
func Warnings(old, s *v1alpha1.Skyhook, installed []Installed) []string {
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		before, known := packageOf(old, name)
		pkg := s.Spec.Packages[name]
		switch {
		case before.Uninstall.Requested() && !pkg.Uninstall.Requested():
			warnings = append(warnings, fmt.Sprintf("spec.packages.%s.uninstall.apply: the uninstall is cancelled; "+
				"nodes where the package is already uninstalled will be re-installed", name))
		case pkg.Uninstall.Requested() && !before.Uninstall.Requested() && !onNodes(name, installed):
			warnings = append(warnings, fmt.Sprintf("spec.packages.%s.uninstall.apply: the package was never installed "+
				"on any node, or is no longer installed, so nothing is uninstalled; it is not installed while apply is true", name))
		}
		if known && before.Interrupt == nil && pkg.Interrupt != nil && before.Version == pkg.Version {
			warnings = append(warnings, fmt.Sprintf("spec.packages.%s.interrupt: nodes that have the package are not interrupted "+
				"for it until the package is applied again; to interrupt them now, raise version too", name))
		}
		ignored, changed := ignoredTag(pkg), !known || before.Image != pkg.Image || before.Version != pkg.Version
		if ignored != "" && changed {
			warnings = append(warnings, fmt.Sprintf("spec.packages.%s.image: %s", name, text.Shorten(ignored, maxMessage)))
		}
	}
	return warnings
}

func onNodes(name string, installed []Installed) bool {
	return slices.ContainsFunc(installed, func(i Installed) bool { return i.Package == name && len(i.Nodes) > 0 })
}

// ignoredTag says that the tag in image does not count; empty when it agrees with the package, or there is none.
func ignoredTag(pkg v1alpha1.Package) string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(pkg.Image, pkg.Repository()), "@")
	tag := strings.TrimPrefix(rest, ":")
	if tag == "" || tag == pkg.Version {
		return ""
	}
	return fmt.Sprintf("the tag %q is ignored; %s is used, because version is the tag; remove the tag from image",
		tag, pkg.ImageRef())
}

// Package capability tells whether a package can be uninstalled: because its spec says so, or because its image does.
//
// What images say is kept in one annotation of the Skyhook, which this package reads and writes as text. It takes
// values and returns values; it knows no registry, client, clock or logger. The controller of the same name asks
// registries.
package capability

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Enabled reports whether the named package of the Skyhook can be uninstalled. What the spec says counts; without a
// word from it, what is known of the package's image; without that, the package cannot.
func Enabled(s *v1alpha1.Skyhook, name string) bool {
	p, ok := s.Spec.Packages[name]
	if ok && !undecided(&p) {
		return *p.Uninstall.Enabled
	}
	found, _ := Read(s).Of(p.ImageRef())
	return ok && found.Answer == True
}

func undecided(p *v1alpha1.Package) bool { return p.Uninstall == nil || p.Uninstall.Enabled == nil }

// ToAsk returns the references of the images whose packages leave uninstall.enabled unset, sorted: those that nothing
// is known of, and those that could not be looked at, for a reason that may pass.
func ToAsk(s *v1alpha1.Skyhook) (missing, failed []string) {
	known := Read(s)
	for _, reference := range slices.Compact(slices.Sorted(maps.Values(references(s)))) {
		found, ok := known.Of(reference)
		switch {
		case !ok:
			missing = append(missing, reference)
		case found.Reason != "" && found.Reason != v1alpha1.ReasonImageUnlabeled:
			failed = append(failed, reference)
		}
	}
	return missing, failed
}

// references of the images that may be asked, by package.
func references(s *v1alpha1.Skyhook) map[string]string {
	all := map[string]string{}
	for name, p := range s.Spec.Packages {
		if undecided(&p) {
			all[name] = p.ImageRef()
		}
	}
	return all
}

// Next returns the value of the annotation after the given findings: what is known already and new, of images that are
// in the spec. It is empty when the annotation has to go.
func Next(s *v1alpha1.Skyhook, findings []Finding) string {
	known := Read(s)
	for _, f := range findings {
		known.Add(f)
	}
	used := map[string]bool{}
	for _, p := range s.Spec.Packages {
		used[p.ImageRef()] = true
	}
	known.keep(used)
	return known.String()
}

// Doubt is a package of which nobody can tell whether it can be uninstalled.
type Doubt struct {
	Package string
	Finding
}

// Doubts returns the packages that leave uninstall.enabled unset and whose images were looked at in vain, by name.
func Doubts(s *v1alpha1.Skyhook) []Doubt {
	known := Read(s)
	var doubts []Doubt
	for name, reference := range references(s) {
		if found, _ := known.Of(reference); found.Answer == Unknown {
			doubts = append(doubts, Doubt{Package: name, Finding: found})
		}
	}
	slices.SortFunc(doubts, func(a, b Doubt) int { return cmp.Compare(a.Package, b.Package) })
	return doubts
}

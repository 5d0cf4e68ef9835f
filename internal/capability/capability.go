// Package capability tells whether a package can be uninstalled: because its spec says so, or because its image does.
//
// What images say is kept in one annotation of the Skyhook, which this package reads and writes as text. It takes values
// and returns values; it knows no registry, client, clock or logger. The folder registry below it asks registries.
package capability

import (
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Enabled reports whether the named package of the Skyhook can be uninstalled. What the spec says counts; without a word
// from it, what is known of the package's image; without that, the package cannot.
func Enabled(s *v1alpha1.Skyhook, name string) bool {
	p, ok := s.Spec.Packages[name]
	return ok && EnabledOf(s, &p)
}

// EnabledOf is Enabled for a package that need not be in the spec, such as one that was.
func EnabledOf(s *v1alpha1.Skyhook, p *v1alpha1.Package) bool {
	if !undecided(p) {
		return *p.Uninstall.Enabled
	}
	verdict, _ := Read(s).Of(p.ImageRef())
	return verdict.Answer == True
}

// Missing returns the sorted references of the images whose packages leave uninstall.enabled unset and of which nothing
// is known yet.
func Missing(s *v1alpha1.Skyhook) []string {
	known, missing := Read(s), map[string]bool{}
	for _, p := range s.Spec.Packages {
		if !undecided(&p) {
			continue
		}
		if _, ok := known.Of(p.ImageRef()); !ok {
			missing[p.ImageRef()] = true
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// Failed returns the sorted references of the images whose packages leave uninstall.enabled unset and that could not be
// looked at, for a reason that may pass.
func Failed(s *v1alpha1.Skyhook) []string {
	known, failed := Read(s), map[string]bool{}
	for _, p := range s.Spec.Packages {
		if !undecided(&p) {
			continue
		}
		verdict, _ := known.Of(p.ImageRef())
		switch verdict.Reason {
		case "", v1alpha1.ReasonImageUnlabeled, v1alpha1.ReasonReferenceInvalid:
		default:
			failed[p.ImageRef()] = true
		}
	}
	return slices.Sorted(maps.Keys(failed))
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

func undecided(p *v1alpha1.Package) bool { return p.Uninstall == nil || p.Uninstall.Enabled == nil }

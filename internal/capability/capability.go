// Package capability tells whether a package can be uninstalled: because its spec says so, or because its image does.
//
// It takes values and returns values; it knows no registry, client, clock or logger.
package capability

import (
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Enabled reports whether the named package of the Skyhook can be uninstalled. What the spec says counts; without a word
// from it the package cannot.
func Enabled(s *v1alpha1.Skyhook, name string) bool {
	u := s.Spec.Packages[name].Uninstall
	return u != nil && ptr.Deref(u.Enabled, false)
}

package lifecycle

import (
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Packages are a Skyhook's packages by name, prepared once per generation for use on every node.
type Packages map[string]Package

// Package is one package of the spec with what is compared on every node.
type Package struct {
	v1alpha1.Package
	// Image is the repository, without tag.
	Image string
	// Hash of all that a pod of this package takes from the spec.
	Hash string
	// Config has a hash per config key, see record.HashConfig.
	Config map[string]string
}

// Prepare computes the Packages of a Skyhook; hash gives the hash of a package's pod.
func Prepare(s *v1alpha1.Skyhook, hash func(name string) string) Packages {
	all := make(Packages, len(s.Spec.Packages))
	for name, pkg := range s.Spec.Packages {
		all[name] = Package{Package: pkg, Image: pkg.Repository(), Hash: hash(name), Config: record.HashConfig(pkg.ConfigMap)}
	}
	return all
}

func (p Packages) names() []string { return slices.Sorted(maps.Keys(p)) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

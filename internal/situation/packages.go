package situation

import (
	"iter"
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
	// Definition is the name under which this definition is retained.
	Definition string
	// Uninstallable says that the package can be uninstalled.
	Uninstallable bool
	// Refused says which of its images the cluster does not allow, and Undigested that it has no digest where one is
	// demanded; empty when nothing is wrong.
	Refused, Undigested string
}

// Derived is what is computed of a package elsewhere, see the fields of Package of the same names.
type Derived struct {
	Hash, Definition    string
	Uninstallable       bool
	Refused, Undigested string
}

// PreparePackage computes one Package.
func PreparePackage(pkg v1alpha1.Package, d Derived) Package {
	return Package{
		Package: pkg, Image: pkg.Repository(), Config: record.HashConfig(pkg.ConfigMap),
		Hash: d.Hash, Definition: d.Definition, Uninstallable: d.Uninstallable,
		Refused: d.Refused, Undigested: d.Undigested,
	}
}

// Prepare computes the Packages of a Skyhook, with the limits that are in force.
func Prepare(s *v1alpha1.Skyhook, limits Limits, derive func(name string) Derived) Packages {
	all := make(Packages, len(s.Spec.Packages))
	for name, pkg := range s.Spec.Packages {
		all[name] = PreparePackage(limits.Of(pkg), derive(name))
	}
	return all
}

// Sorted walks a map by its keys as they are at first, so that entries may be removed on the way.
func Sorted[V any, M ~map[string]V](m M) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if len(m) == 1 { // as many records have, on each of many nodes
			for key, v := range m {
				yield(key, v)
			}
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

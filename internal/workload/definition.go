package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Definition is one package as it was installed: all that is needed to uninstall it. References to Secrets stay
// references.
type Definition struct {
	// Package name, the key in spec.packages.
	Package string `json:"package"`
	// Enabled says that it can be uninstalled, by its spec or by its image.
	Enabled bool             `json:"enabled"`
	Spec    v1alpha1.Package `json:"spec"`
}

// DefinitionOf returns the definition of a package of the spec. Whether its uninstall was asked for is no part of it.
func DefinitionOf(s *v1alpha1.Skyhook, name string) Definition {
	pkg := s.Spec.Packages[name]
	d := Definition{Package: name, Enabled: capability.Enabled(s, name), Spec: *pkg.DeepCopy()}
	d.Spec.Name = name
	if d.Spec.Uninstall != nil {
		d.Spec.Uninstall.Apply = false
	}
	return d
}

// Hash names the definition: equal definitions have equal hashes, of ten hex digits.
func (d Definition) Hash() string {
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // only plain API types are encoded; json cannot refuse them
	}
	return digest(raw, 10)
}

// Revision builds the object that retains a definition. Its data never changes; its revision is the generation of the
// Skyhook that asked for it last, so that the newest word on a version can be found.
func (o Options) Revision(s *v1alpha1.Skyhook, d Definition) (*appsv1.ControllerRevision, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the definition of package %s: %w", d.Package, err)
	}
	meta := o.packageMeta(s, s.Name+"-"+d.Package+"-"+d.Hash(), d.Package, d.Spec.Version)
	meta.Labels[v1alpha1.LabelDefinition] = d.Hash()
	return &appsv1.ControllerRevision{ObjectMeta: meta, Data: runtime.RawExtension{Raw: raw}, Revision: s.Generation}, nil
}

// ReadRevision returns the definition that an object retains, and its name. The API server keeps the data of a
// ControllerRevision from being changed; one that was put in its place holds something else than its name says, and
// counts for nothing.
func ReadRevision(r *appsv1.ControllerRevision) (Definition, string, error) {
	var d Definition
	if err := json.Unmarshal(r.Data.Raw, &d); err != nil {
		return Definition{}, "", fmt.Errorf("ControllerRevision %s/%s does not hold a package definition: %w; delete it",
			r.Namespace, r.Name, err)
	}
	name := DefinitionName(r)
	if !strings.HasSuffix(r.Name, "-"+name) || hashOfText(r.Data.Raw) != name && d.Hash() != name {
		return Definition{}, "", fmt.Errorf(
			"ControllerRevision %s/%s does not hold the definition that it is named for, because it was replaced; delete it",
			r.Namespace, r.Name)
	}
	return d, name, nil
}

// hashOfText is the hash of a definition as it is stored. It is that of the definition, unless a newer operator reads
// fields of it that did not exist when it was stored.
func hashOfText(raw []byte) string {
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return ""
	}
	return digest(text.Bytes(), 10)
}

// DefinitionName is the name under which records refer to what an object retains.
func DefinitionName(r *appsv1.ControllerRevision) string { return r.Labels[v1alpha1.LabelDefinition] }

// VersionKey is the key of the entries, in records, of the package version that an object retains.
func VersionKey(r *appsv1.ControllerRevision) string {
	return record.Key(r.Annotations[v1alpha1.AnnotationPackageName], r.Annotations[v1alpha1.AnnotationPackageVersion])
}

// SamePackage reports whether two objects retain definitions of the same package.
func SamePackage(a, b *appsv1.ControllerRevision) bool {
	return a.Annotations[v1alpha1.AnnotationPackageName] == b.Annotations[v1alpha1.AnnotationPackageName]
}

// SameVersion reports whether two objects retain definitions of the same package version.
func SameVersion(a, b *appsv1.ControllerRevision) bool { return VersionKey(a) == VersionKey(b) }

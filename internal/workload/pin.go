package workload

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// pin is how a ControllerRevision keeps which image a package version is pinned to.
type pin struct {
	Package string `json:"package"`
	Version string `json:"version"`
	Image   string `json:"image"`
	Scope   string `json:"scope,omitempty"`
	Digest  string `json:"digest"`
}

type moved struct {
	Digest string `json:"digest"`
	Node   string `json:"node"`
}

// PinRevision builds the object that keeps a pin. Its name says what is pinned and not to what, and its data never
// changes: of all nodes that pulled the image, the one that creates it first says which image counts.
func (o Options) PinRevision(s *v1alpha1.Skyhook, p lifecycle.Pin) (*appsv1.ControllerRevision, error) {
	raw, err := json.Marshal(pin{Package: p.Package, Version: p.Version, Image: p.Image, Scope: p.Scope, Digest: p.Digest})
	if err != nil {
		return nil, fmt.Errorf("encode the pin of package %s: %w", p.Package, err)
	}
	meta := o.packageMeta(s, s.Name+"-"+p.Package+"-pin-"+pinHash(s, p.PinKey), p.Package, p.Version)
	meta.Labels[v1alpha1.LabelPin] = "true"
	return &appsv1.ControllerRevision{ObjectMeta: meta, Data: runtime.RawExtension{Raw: raw}}, nil
}

func pinHash(s *v1alpha1.Skyhook, key lifecycle.PinKey) string {
	return hashOf(configMapHashLength, []string{"pin", string(s.UID), key.Package, key.Version, key.Image, key.Scope})
}

// IsPin reports whether an object keeps a pin, and no definition.
func IsPin(o metav1.Object) bool { return o.GetLabels()[v1alpha1.LabelPin] != "" }

// ReadPin returns the pin that an object keeps.
func ReadPin(r *appsv1.ControllerRevision) (lifecycle.Pin, error) {
	var p pin
	if err := json.Unmarshal(r.Data.Raw, &p); err != nil || p.Package == "" || p.Digest == "" {
		return lifecycle.Pin{}, fmt.Errorf("ControllerRevision %s/%s does not hold a pinned image; delete it", r.Namespace,
			r.Name)
	}
	var m moved // of an annotation that nobody can read nothing is known, and the next node to find it moved writes it
	_ = json.Unmarshal([]byte(r.Annotations[v1alpha1.AnnotationMoved]), &m)
	return lifecycle.Pin{
		PinKey: lifecycle.PinKey{Package: p.Package, Version: p.Version, Image: p.Image, Scope: p.Scope},
		Digest: p.Digest, Moved: m.Digest, Node: m.Node,
	}, nil
}

// Moved encodes, for the annotation of what keeps a pin, which other image a node got.
func Moved(p lifecycle.Pin) (string, error) {
	raw, err := json.Marshal(moved{Digest: p.Moved, Node: p.Node})
	if err != nil {
		return "", fmt.Errorf("encode what package %s moved to: %w", p.Package, err)
	}
	return string(raw), nil
}

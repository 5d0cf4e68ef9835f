package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Hash is a short hash of all that a pod of a package takes from the spec. It is stamped on the pod and compared with
// the spec's, so that neither defaults set by the API server nor an edit elsewhere in the Skyhook replaces a pod. It is
// taken of what the user meant, not of the text: quantities encode canonically, so "1000m" and "1" are the same.
func Hash(s *v1alpha1.Skyhook, pkg v1alpha1.Package) string {
	// A stage's limits and its interrupts are no part of it: they change what follows, not what runs.
	raw, err := json.Marshal(struct {
		Image, Agent string
		ConfigMap    map[string]string
		Env          []corev1.EnvVar
		Resources    corev1.ResourceRequirements
		Grace        *int64
		Tolerations  []corev1.Toleration
	}{
		pkg.ImageRef(), pkg.AgentImageOverride, pkg.ConfigMap, pkg.Env, resources(pkg), gracePeriod(pkg),
		s.Spec.AdditionalTolerations,
	})
	if err != nil {
		// Only plain API types are encoded; json cannot refuse them.
		panic(err)
	}
	return digest(raw, 16)
}

// digest is the beginning of a hash of a text, in so many hex digits.
func digest(text []byte, digits int) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:digits]
}

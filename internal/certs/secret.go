package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const keyCA = "ca.crt"

func pairOf(s *corev1.Secret) Pair {
	return Pair{CA: s.Data[keyCA], Cert: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
}

// newSecret has the type that tools for certificates look for.
func newSecret(name types.NamespacedName) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Type:       corev1.SecretTypeTLS,
	}
}

// put writes a pair into a Secret and leaves what else is there.
func put(p Pair, end time.Time, s *corev1.Secret) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationExpiration, end.UTC().Format(time.RFC3339))
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[keyCA], s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = p.CA, p.Cert, p.Key
}

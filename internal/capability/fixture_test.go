package capability_test

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// skyhook reads packages: "a x/a:1.0.0; b x/b:1.0.0 enabled". The words after the image:
//
//	sha=B      pinned to digestB
//	enabled    uninstall.enabled is true
//	disabled   uninstall.enabled is false
//	silent     there is an uninstall, without enabled
func skyhook(annotation, packages string) *v1alpha1.Skyhook {
	s := &v1alpha1.Skyhook{}
	if annotation != "" {
		s.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: annotation}
	}
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for text := range strings.SplitSeq(packages, ";") {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		image, version, _ := strings.Cut(words[1], ":")
		p := v1alpha1.Package{Image: image, Version: version}
		for _, word := range words[2:] {
			switch word {
			case "sha=B":
				p.ContainerSHA = digestB
			case "enabled":
				p.Uninstall = &v1alpha1.Uninstall{Enabled: ptr.To(true)}
			case "disabled":
				p.Uninstall = &v1alpha1.Uninstall{Enabled: ptr.To(false)}
			case "silent":
				p.Uninstall = &v1alpha1.Uninstall{WhenRemoved: v1alpha1.WhenRemovedUninstall}
			}
		}
		s.Spec.Packages[words[0]] = p
	}
	return s
}

// known writes an annotation: "x/a:1.0.0=A A=true x/b:1.0.0=ImageNotFound". A reference stands for a digest, by its letter, or
// for the reason why it could not be looked at.
func known(t *testing.T, text string) string {
	t.Helper()
	digests := map[string]string{"A": digestA, "B": digestB}
	k := capability.Known{References: map[string]capability.Finding{}, Digests: map[string]string{}}
	for word := range strings.FieldsSeq(text) {
		left, right, ok := strings.Cut(word, "=")
		if !ok {
			t.Fatalf("no = in %q", word)
		}
		switch {
		case digests[left] != "":
			k.Digests[digests[left]] = right
		case digests[right] != "":
			k.References[left] = capability.Finding{Digest: digests[right]}
		default:
			k.References[left] = capability.Finding{Reason: right, Message: "it failed"}
		}
	}
	return k.String()
}

func finding(reference, digest, answer string) capability.Finding {
	return capability.Finding{Reference: reference, Digest: digest, Answer: answer}
}

func failure(reference, digest, reason, message string) capability.Finding {
	return capability.Finding{Reference: reference, Digest: digest, Answer: capability.Unknown, Reason: reason, Message: message}
}

func with(s *v1alpha1.Skyhook, annotation string) *v1alpha1.Skyhook {
	s = s.DeepCopy()
	s.Annotations = maps.Clone(s.Annotations)
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[v1alpha1.AnnotationUninstallCapability] = annotation
	return s
}

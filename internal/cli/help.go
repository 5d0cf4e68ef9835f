package cli

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/reasons"
)

// textOf is what is known of a reason, also of the kubelet's.
func textOf(reason string) reasons.Text {
	if t, ok := ofKubelet[reason]; ok {
		return t
	}
	return reasons.Of(reason)
}

// ofKubelet is what helps against reasons that are the kubelet's own.
var ofKubelet = map[string]reasons.Text{
	"ImagePullBackOff": {
		EndedBy: []string{"author", "package author", "administrator"},
		Do: "Push the image, or correct `spec.packages.PACKAGE.image` or `version`; if the message names the registry or " +
			"credentials, let the nodes reach it, or correct the pull secret. The kubelet tries again with pauses of up to five " +
			"minutes, and at once when the package is run again.",
	},
	"InvalidImageName": {EndedBy: []string{"author"}, Do: "Correct `spec.packages.PACKAGE.image` or `version`."},
	"CreateContainerConfigError": {
		EndedBy: []string{"administrator", "author"},
		Do: "Create the object, or the key in it, that the message names, in namespace `skyhook`; or correct " +
			"`spec.packages.PACKAGE.env`. The kubelet tries again by itself. In the command, VALUE stands for what the key " +
			"should hold.",
	},
}

// subject is what the names in capitals of a help text stand for; what is empty stays a name in capitals.
type subject struct{ skyhook, node, pkg, namespace, podNamespace, pod, by string }

// placeholder is a word in capitals; NAME is no part of NAMESPACE, nor NODE of NODES.
var placeholder = regexp.MustCompile(`[A-Z][A-Z_]*`)

// advice is what helps against a reason, with names; empty where nothing is known of it.
func (s subject) advice(reason string) string {
	names := map[string]string{
		"NAMESPACE": s.podNamespace, "NAME": s.skyhook, "NODES": s.node, "NODE": s.node, "PACKAGE": s.pkg, "POD": s.pod,
		"KEY": s.by, "EARLIER": s.by,
	}
	text := placeholder.ReplaceAllStringFunc(textOf(reason).Do, func(word string) string {
		return cmp.Or(names[word], word)
	})
	if s.namespace == "" {
		return text
	}
	return strings.NewReplacer("-n skyhook", "-n "+s.namespace, "namespace `skyhook`", "namespace `"+s.namespace+"`").Replace(text)
}

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	maxPodName       = 63
	maxConfigMapName = 253
	// maxContainerPrefix leaves room for "-post-interruptcheck" in a container name of at most 63 characters.
	maxContainerPrefix = 43
	hashLength         = 8
)

// safeName joins parts with "-" into a name of at most limit characters that is unique for the parts: dots become
// dashes, the text is cut, and the first 8 hex digits of its SHA-256 are appended.
func safeName(limit int, parts ...string) string {
	name := strings.ReplaceAll(strings.Join(parts, "-"), ".", "-")
	sum := sha256.Sum256([]byte(name))
	if keep := limit - hashLength - 1; len(name) > keep {
		name = name[:keep]
	}
	return strings.ToLower(name + "-" + hex.EncodeToString(sum[:])[:hashLength])
}

// PodName is the name of the pod that runs a stage of a package on a node. It is the same for every run, so that
// creating it twice is harmless.
func PodName(skyhook, pkg, version string, stage v1alpha1.Stage, node string) string {
	return safeName(maxPodName, skyhook, pkg, version, string(stage), node)
}

// ConfigMapName is the name of a package's ConfigMap.
func ConfigMapName(skyhook, pkg, version string) string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%s", skyhook, pkg, version))
}

// RetainedConfigMapName is the name of the ConfigMap of a retained definition: several may be of one version.
func RetainedConfigMapName(skyhook, pkg, version, definition string) string {
	return ConfigMapName(skyhook, pkg, version) + "-" + definition
}

// NodeMetaName is the name of the ConfigMap that shows a node's metadata to a Skyhook's packages.
func NodeMetaName(skyhook, node string) string {
	return safeName(maxConfigMapName, skyhook, node, "metadata")
}

func containerPrefix(pkg string) string {
	if len(pkg) > maxContainerPrefix {
		return pkg[:maxContainerPrefix]
	}
	return pkg
}

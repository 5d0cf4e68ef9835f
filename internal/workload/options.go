// Package workload builds the objects that do the work on a node: package pods and the ConfigMaps they mount; and it
// reads back what such a pod tells about its stage.
//
// The shapes are a contract with packages and agents made by others (names, mounts, env, labels). The package knows no
// client, clock or logger.
package workload

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Options are the operator's settings that show in the objects.
type Options struct {
	// Namespace of all pods and ConfigMaps.
	Namespace string
	// AgentImage runs the stages, unless a package overrides it.
	AgentImage string
	// CopyDirRoot is the host folder for copies of packages and the agent's state, such as /var/lib/skyhook.
	CopyDirRoot string
	// AgentLogRoot is the host folder for step logs, such as /var/log/skyhook.
	AgentLogRoot string
	// ImagePullSecret is the name of a Secret in Namespace; empty for none.
	ImagePullSecret string
	// RuntimeTaint is tolerated by every pod.
	RuntimeTaint corev1.Taint
}

const (
	prefix = v1alpha1.GroupName + "/"

	// LabelName holds the Skyhook's name on pods and package ConfigMaps.
	LabelName = prefix + "name"
	// LabelPackage holds "<package>-<version>" on pods.
	LabelPackage = prefix + "package"
	// LabelInterrupt is "True" on interrupt pods.
	LabelInterrupt = prefix + "interrupt"
	// LabelNodeMeta holds the Skyhook's name on node metadata ConfigMaps.
	LabelNodeMeta = prefix + "skyhook-node-meta"

	// labelDefinition holds the name of the definition that a ControllerRevision retains.
	labelDefinition = prefix + "definition"

	annotationName           = prefix + "name"
	annotationPackage        = prefix + "package"
	annotationRun            = prefix + "run"
	annotationHash           = prefix + "hash"
	annotationPackageName    = prefix + "Package.Name"
	annotationPackageVersion = prefix + "Package.Version"
	annotationNodeName       = prefix + "Node.name"
)

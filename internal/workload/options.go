// Package workload builds the objects that do the work on a node: package pods and the ConfigMaps they mount; and it
// reads back what such a pod tells about its stage.
//
// The shapes are a contract with packages and agents made by others (names, mounts, env, labels). The package knows no
// client, clock or logger.
package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/skyhook-operator/skyhook/internal/registry"
)

// PriorityClass is the one that the chart makes for package pods. Its value is below those of Kubernetes' critical
// classes, for whose pods a kubelet ends others to make room, whatever their PodDisruptionBudgets say.
const PriorityClass = "skyhook-packages"

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
	// PriorityClass of every pod; empty for none. See [PriorityClass].
	PriorityClass string
	// InterruptMemory is what the container of an interrupt requests, and its limit.
	InterruptMemory resource.Quantity
	// PinImages has every pod of a package version run the image that its tag stood for when the first node pulled it.
	PinImages bool
	// PullPolicy of all containers. Empty: an image named by a digest is pulled where it is missing, any other always.
	PullPolicy corev1.PullPolicy
	// Mirror is where nodes pull the images that Skyhooks name; not the operator's own agent, which AgentImage names in
	// full. Nothing but pods knows of it: records, definitions and pins keep the names of the spec.
	Mirror registry.Mirror
	// RuntimeTaint is tolerated by every pod.
	RuntimeTaint corev1.Taint
	// Tolerations of every pod, beside those that its Skyhook adds.
	Tolerations []corev1.Toleration
}

package forecast

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Snapshot is what was read of a cluster.
type Snapshot struct {
	Nodes []corev1.Node
	// Pods of all namespaces, or of as many as could be read.
	Pods []corev1.Pod
	// ConfigMaps and Revisions of the operator's namespace.
	ConfigMaps []corev1.ConfigMap
	Revisions  []appsv1.ControllerRevision
	Skyhooks   []v1alpha1.Skyhook
	Policies   []v1alpha1.DeploymentPolicy
	Budgets    []policyv1.PodDisruptionBudget
}

func (s *Snapshot) objects() []client.Object {
	var all []client.Object
	all = appendAll(all, s.Nodes)
	all = appendAll(all, s.Pods)
	all = appendAll(all, s.ConfigMaps)
	all = appendAll(all, s.Revisions)
	all = appendAll(all, s.Skyhooks)
	return appendAll(all, s.Policies)
}

func appendAll[T any, P interface {
	*T
	client.Object
}](all []client.Object, items []T) []client.Object {
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}

// Package v1alpha1 holds the API of group skyhook.nvidia.com, version v1alpha1: the cluster-scoped kinds Skyhook and
// DeploymentPolicy.
//
// It has types, static rules (CEL markers) and small accessors, and no other logic. Decoding changes nothing: what a
// user wrote is what every reader sees, so that GitOps tools find no drift.
//
// +kubebuilder:object:generate=true
// +groupName=skyhook.nvidia.com
package v1alpha1

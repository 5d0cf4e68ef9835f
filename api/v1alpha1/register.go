package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package and the prefix of every annotation, label and condition the
// operator writes.
const GroupName = "skyhook.nvidia.com"

var (
	// GroupVersion names this package's version for REST mappings and owner references.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers every kind of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Skyhook{}, &SkyhookList{}, &DeploymentPolicy{}, &DeploymentPolicyList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

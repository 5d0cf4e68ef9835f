//go:build integration

package apiserver

import (
	"slices"
	"testing"

	"k8s.io/client-go/discovery"
)

func TestStartServesTheProjectsKinds(t *testing.T) {
	c, err := discovery.NewDiscoveryClientForConfig(Start(t))
	if err != nil {
		t.Fatal(err)
	}
	resources, err := c.ServerResourcesForGroupVersion("skyhook.nvidia.com/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(resources.APIResources))
	for _, r := range resources.APIResources {
		names = append(names, r.Name)
		if r.Namespaced {
			t.Errorf("%s is namespaced", r.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"deploymentpolicies", "deploymentpolicies/status", "skyhooks", "skyhooks/status"}; !slices.Equal(names, want) {
		t.Errorf("serves %v, want %v", names, want)
	}
}

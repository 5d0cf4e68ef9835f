//go:build integration

package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubernetes' own types spell some values anew, in every API: a duration of 1.5m becomes 1m30s, a quantity of 1 becomes
// "1", and null is left out. These manifests have such values; all others must come back byte for byte.
var respelled = map[string]bool{"durations": true, "quantities": true, "stored-by-existing-api": true}

// A controller or tool that reads an object and writes it back must not change it: a new generation would be drift.
func TestWritingBackChangesNothing(t *testing.T) {
	c := strictClient(t)
	for _, m := range readManifests(t, validManifests, 10) {
		t.Run(m.name, func(t *testing.T) {
			stored, err := create(t, c, m)
			if err != nil {
				t.Fatal(err)
			}
			if respelled[m.name] {
				writeBack(t, c, stored)
			}
			before := stored.GetGeneration()
			writeBack(t, c, stored)
			if after := stored.GetGeneration(); after != before {
				t.Errorf("generation went from %d to %d", before, after)
			}
		})
	}
}

// writeBack sends the object through its Go type to the API server and keeps the answer in it.
func writeBack(t *testing.T, c client.Client, stored *unstructured.Unstructured) {
	t.Helper()
	*stored = *throughTypes(t, stored)
	if err := c.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
}

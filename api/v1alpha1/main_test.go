//go:build integration

package v1alpha1_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }

// strictClient talks to the test's API server the way kubectl does: unknown fields are errors.
func strictClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(apiserver.Start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// create stores a copy of the manifest for the time of the test and returns what the API server made of it.
func create(t *testing.T, c client.Client, m manifest) (*unstructured.Unstructured, error) {
	t.Helper()
	stored := m.object.DeepCopy()
	if err := c.Create(t.Context(), stored); err != nil {
		return nil, err
	}
	deleteAfter(t, c, stored)
	return stored, nil
}

func deleteAfter(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := c.Delete(context.WithoutCancel(t.Context()), object); err != nil {
			t.Errorf("delete %s: %v", object.GetName(), err)
		}
	})
}

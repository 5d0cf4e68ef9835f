//go:build integration

package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func init() { actual = actualServer }

func actualServer(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(apiserver.Start(t), client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}},
	} {
		if err := c.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	return c
}

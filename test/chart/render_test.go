//go:build integration

package chart

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/helm"
)

const (
	root     = "../.."
	chartDir = root + "/charts/skyhook-operator"
)

type objects = helm.Objects

func template(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	return helm.Template(t, root, args...)
}

func render(t *testing.T, args ...string) objects {
	t.Helper()
	return helm.Render(t, root, args...)
}

func get[T client.Object](t *testing.T, all objects, key string) T {
	t.Helper()
	return helm.Get[T](t, all, key)
}

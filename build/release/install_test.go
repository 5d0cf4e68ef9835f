//go:build integration

package release

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// TestInstall: an API server takes every object of install.yaml, with no field that it does not know.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	digest := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}
	o := must(Options{Root: root, Log: t.Output()}.withDefaults())(t)
	var built []images.Result
	for _, name := range []string{"operator", "agent"} {
		reference := "ghcr.io/skyhook-operator/skyhook/" + name + ":" + o.version
		built = append(built, images.Result{Name: name, Version: o.version, Reference: reference, Digest: digest})
	}
	if err := writeChart(t.Context(), o, dir, built); err != nil {
		t.Fatal(err)
	}
	c := must(client.New(apiserver.Start(t), client.Options{}))(t)
	strict := client.WithFieldValidation(c, metav1.FieldValidationStrict)
	kinds := map[string]int{}
	for _, object := range objects(t, read(t, filepath.Join(dir, "install.yaml"))) {
		kinds[object.GetKind()]++
		options := []client.ApplyOption{client.FieldOwner("test"), client.ForceOwnership}
		if object.GetKind() == "Namespace" {
			if len(kinds) > 1 {
				t.Error("the namespace comes after what is in it")
			}
		} else {
			options = append(options, client.DryRunAll)
		}
		if err := strict.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	for kind, want := range map[string]int{
		"Namespace": 1, "CustomResourceDefinition": 2, "Deployment": 1, "ValidatingWebhookConfiguration": 1, "ValidatingAdmissionPolicy": 2,
	} {
		if kinds[kind] != want {
			t.Errorf("%d objects of kind %s, want %d", kinds[kind], kind, want)
		}
	}
	var namespace corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: "skyhook"}, &namespace); err != nil {
		t.Error(err)
	}
}

// objects reads the documents of a manifest.
func objects(t *testing.T, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var all []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

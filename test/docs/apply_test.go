//go:build integration

package docs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }

// TestManifests: the API server takes what pages and examples tell people to apply, and so do the operator's webhooks.
// A fragment is tried inside of the smallest Skyhook, where its place says.
func TestManifests(t *testing.T) {
	blocks, err := allYAML(root)
	if err != nil {
		t.Fatal(err)
	}
	server := connect(t)
	tried := map[place]int{}
	for _, b := range blocks {
		if b.place == ofStatus || b.place == chart || b.place == prometheus || b.place == policy {
			continue // see TestFragments
		}
		objects, err := b.objects()
		if err != nil || len(objects) == 0 {
			t.Errorf("%s: %d objects, %v", b.at, len(objects), err)
		}
		for _, object := range objects {
			tried[b.place]++
			if err := server.takes(t.Context(), object); err != nil {
				t.Errorf("%s: %v", b.at, err)
			}
		}
	}
	if tried[manifests] < 15 || tried[ofSkyhook] < 2 || tried[ofSpec] < 2 || tried[ofPackage] < 4 {
		t.Errorf("only %v tried", tried)
	}
}

// TestWrongManifests: what is wrong is noticed, whoever notices it.
func TestWrongManifests(t *testing.T) {
	server := connect(t)
	for name, c := range map[string]struct{ place, text, want string }{
		"a misspelt field":      {"package", "imagePullSecret: x", "imagePullSecret"},
		"a wrong type":          {"spec", "priority: first", "priority"},
		"a rule of the CRD":     {"spec", "priority: 0", "priority"},
		"a rule of the webhook": {"spec", "nodeSelectors: {matchLabels: {a: b c}}", "nodeSelectors"},
		"an unknown kind":       {"", "apiVersion: skyhook.nvidia.com/v1alpha1\nkind: Skyhok\nmetadata: {name: a}", "Skyhok"},
		"an unknown core kind":  {"", "apiVersion: v1\nkind: Secrets\nmetadata: {name: a}", "Secrets"},
	} {
		objects, err := block{place: place(c.place), text: c.text}.objects()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.takes(t.Context(), objects[0]); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type server struct{ client.Client }

func connect(t *testing.T) server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return server{c}
}

// takes applies an object without storing it, as kubectl apply --server-side --dry-run=server does: fields that the
// schema does not have are refused.
func (s server) takes(ctx context.Context, content map[string]any) error {
	object := &unstructured.Unstructured{Object: content}
	if foreign(object) {
		return nil
	}
	if err := s.namespace(ctx, object.GetNamespace()); err != nil {
		return err
	}
	err := s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("docs"), client.DryRunAll)
	if err != nil {
		return err
	}
	return webhooks(object)
}

// foreign objects are of a product that the page is about, whose types the API server does not have.
func foreign(object *unstructured.Unstructured) bool {
	group := object.GroupVersionKind().Group
	return strings.Contains(group, ".") && group != v1alpha1.GroupName && !strings.HasSuffix(group, ".k8s.io")
}

func (s server) namespace(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	return client.IgnoreAlreadyExists(s.Create(ctx, namespace))
}

// webhooks checks what only the operator knows.
func webhooks(object *unstructured.Unstructured) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var problems []admission.Problem
	switch object.GetKind() {
	case "Skyhook":
		var s v1alpha1.Skyhook
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		problems = admission.Check(&s, admission.ImageRules{})
	case "DeploymentPolicy":
		var p v1alpha1.DeploymentPolicy
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		problems = admission.CheckPolicy(&p)
	}
	if len(problems) > 0 {
		return errors.New(admission.Join(problems))
	}
	return nil
}

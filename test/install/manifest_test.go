//go:build integration

package install

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/test/apiserver"
	"github.com/skyhook-operator/skyhook/test/helm"
)

// TestManifest: what the demo applies is taken by an API server, also when another build is there already.
func TestManifest(t *testing.T) {
	helm.Inputs(t, "../..")
	c, err := client.New(apiserver.Start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := images.Version("../..")
	if err != nil {
		t.Fatal(err)
	}
	reference := "ghcr.io/skyhook-operator/skyhook/operator:" + version
	for _, digest := range []string{"a", "b"} {
		operator := images.Result{Name: "operator", Reference: reference, Digest: v1.Hash{Algorithm: "sha256", Hex: digest}}
		text, err := manifest.Install(t.Context(), "../..", t.Output(), operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := Manifest(t.Context(), c, text); err != nil {
			t.Fatal(err)
		}
		var deployments appsv1.DeploymentList
		if err := c.List(t.Context(), &deployments, client.InNamespace(Namespace), managerLabels); err != nil {
			t.Fatal(err)
		}
		if len(deployments.Items) != 1 {
			t.Fatalf("%d Deployments", len(deployments.Items))
		}
		if got, want := deployments.Items[0].Spec.Template.Spec.Containers[0].Image, reference+"@sha256:"+digest; got != want {
			t.Errorf("got the image %s, want %s", got, want)
		}
	}
}

//go:build integration

package chart

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/test/apiserver"
	"github.com/skyhook-operator/skyhook/test/helm"
)

// foreign are the API groups of others, whose CRDs are not there.
var foreign = []string{"cert-manager.io", "monitoring.coreos.com"}

// TestAPIServerTakesAllSets: it would create every object that any set of values renders.
func TestAPIServerTakesAllSets(t *testing.T) {
	c, err := client.New(apiserver.Start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"skyhook", "observability"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), ns)); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range sets(t) {
		t.Run(name, func(t *testing.T) {
			out, err := templateWith(t, v)
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for document := range strings.SplitSeq(out, "\n---\n") {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
					t.Fatal(err)
				}
				if o.Object == nil || slices.Contains(foreign, o.GroupVersionKind().Group) {
					continue
				}
				// The CRDs are there already: applying is what an upgrade does.
				err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.ForceOwnership, client.FieldOwner("helm"))
				if err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
				taken++
			}
			if taken < 7 {
				t.Errorf("only %d objects were there to take", taken)
			}
		})
	}
}

// TestNotesTellWhatHasNoEffect of a values file of the existing chart.
func TestNotesTellWhatHasNoEffect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, file, apiserver.Start(t))
	install := func(values string) string {
		// The CRDs are there already, and not of a release.
		out, err := helm.Run(t, root, "install", "skyhook", chartDir, "--namespace", "skyhook", "--dry-run=server",
			"--kubeconfig", file, "--values", values, "--set", "crds.install=false")
		if err != nil {
			t.Fatal(err)
		}
		_, notes, _ := strings.Cut(string(out), "\nNOTES:\n")
		return notes
	}
	const want = "cleanup, controllerManager.kubeRbacProxy, controllerManager.manager.env.pauseImage, webhook.removalImage, webhook.removalTag, webhook.removalDigest"
	if notes := install(filepath.Join(goldenDir, "existing-chart"+valuesSuffix)); !strings.Contains(notes, "no effect") || !strings.Contains(notes, want) {
		t.Errorf("it says\n%s", notes)
	}
	if notes := install(filepath.Join(chartDir, "values.yaml")); notes == "" || strings.Contains(notes, "no effect") {
		t.Errorf("by default it says\n%s", notes)
	}
}

// TestCRDsOfTheReleaseAreNotGivenUp: an upgrade without them would delete them, and every Skyhook, unless Helm keeps them.
func TestCRDsOfTheReleaseAreNotGivenUp(t *testing.T) {
	config := apiserver.Start(t)
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, file, config)
	upgrade := func(release, policy string) error {
		note(t, c, map[string]any{
			"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "skyhook", "helm.sh/resource-policy": policy,
		})
		_, err := helm.Run(t, root, "install", "skyhook", chartDir, "--namespace", "skyhook", "--dry-run=server",
			"--kubeconfig", file, "--set", "crds.install=false")
		return err
	}
	t.Cleanup(func() {
		note(t, c, map[string]any{"meta.helm.sh/release-name": nil, "meta.helm.sh/release-namespace": nil, "helm.sh/resource-policy": nil})
	})
	if err := upgrade("skyhook", ""); err == nil || !strings.Contains(err.Error(), "crds.install must be true: skyhooks.skyhook.nvidia.com") {
		t.Errorf("got %v", err)
	}
	for release, policy := range map[string]string{"skyhook": "keep", "another": ""} {
		if err := upgrade(release, policy); err != nil {
			t.Errorf("of release %s with policy %q: %v", release, policy, err)
		}
	}
}

// note writes annotations of the CRD of Skyhooks, or removes them.
func note(t *testing.T, c client.Client, annotations map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("skyhooks.skyhook.nvidia.com")
	if err := c.Patch(context.Background(), crd, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

func writeKubeconfig(t *testing.T, file string, config *rest.Config) {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

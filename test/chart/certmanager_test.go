//go:build integration

package chart

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// certificates renders what is for cert-manager, whose types are not ours to depend on, by "Kind/name".
func certificates(t *testing.T, args ...string) map[string]unstructured.Unstructured {
	t.Helper()
	out, err := template(t, append([]string{"--show-only", "templates/certmanager.yaml", "--set", "webhook.certManager.enable=true"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]unstructured.Unstructured{}
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		all[o.GetKind()+"/"+o.GetName()] = o
	}
	return all
}

func text(o unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, fields...)
	return s
}

// TestCertManager: the Certificate is for the Secret that the operator reads and names all by which it is called, and
// each Issuer is the one that the Certificates name.
func TestCertManager(t *testing.T) {
	all := certificates(t, "--set", "webhook.secretName=cert,webhook.serviceName=hooks,kubernetesClusterDomain=k8s.example")
	const prefix = "skyhook-skyhook-operator-webhooks"
	if len(all) != 4 {
		t.Errorf("it renders %d objects", len(all))
	}
	leaf, ca := all["Certificate/"+prefix], all["Certificate/"+prefix+"-ca"]
	names, _, _ := unstructured.NestedStringSlice(leaf.Object, "spec", "dnsNames")
	want := []string{"hooks.skyhook.svc", "hooks.skyhook.svc.k8s.example", "skyhook-operator-controller-manager-metrics-service.skyhook.svc"}
	if !slices.Equal(names, want) || text(leaf, "spec", "secretName") != "cert" {
		t.Errorf("Secret %s is for %v", text(leaf, "spec", "secretName"), names)
	}
	for certificate, issuer := range map[*unstructured.Unstructured]string{&leaf: prefix, &ca: prefix + "-self"} {
		if got := text(*certificate, "spec", "issuerRef", "name"); got != issuer || all["Issuer/"+issuer].Object == nil {
			t.Errorf("%s is issued by %s", certificate.GetName(), got)
		}
	}
	if got := text(all["Issuer/"+prefix], "spec", "ca", "secretName"); got == "" || got != text(ca, "spec", "secretName") || got == "cert" {
		t.Errorf("the CA is in Secret %s", got)
	}
	own := certificates(t, "--set", "webhook.certManager.issuerRef.kind=ClusterIssuer,webhook.certManager.issuerRef.name=company")
	if got := text(own["Certificate/"+prefix], "spec", "issuerRef", "name"); len(own) != 1 || got != "company" {
		t.Errorf("with an issuer there are %d objects, and the Certificate is of %s", len(own), got)
	}
}

// TestOneKeeperOfTheCertificate: with cert-manager, the operator is told to write nothing and may not, so the two
// cannot undo each other's work.
func TestOneKeeperOfTheCertificate(t *testing.T) {
	all := render(t, "--set", "webhook.certManager.enable=true", "--show-only", "templates/webhook.yaml", "--show-only", "templates/deployment.yaml",
		"--show-only", "templates/rbac-cluster.yaml", "--show-only", "templates/rbac-namespace.yaml")
	configuration := get[*admissionregistrationv1.ValidatingWebhookConfiguration](t, all, configurationKey)
	if got := configuration.Annotations["cert-manager.io/inject-ca-from"]; got != "skyhook/skyhook-skyhook-operator-webhooks" {
		t.Errorf("cert-manager injects the CA of %q", got)
	}
	if got := environmentOf(t, all)["WEBHOOK_MANAGE_CERTIFICATE"]; got != "false" {
		t.Errorf("WEBHOOK_MANAGE_CERTIFICATE is %q", got)
	}
	rules := slices.Concat(get[*rbacv1.Role](t, all, "Role/skyhook-operator-manager-role").Rules,
		get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules)
	for _, r := range rules {
		if !slices.Contains(r.Resources, "secrets") && !slices.Contains(r.Resources, "validatingwebhookconfigurations") {
			continue
		}
		if len(r.ResourceNames) != 1 || !slices.Equal(r.Verbs, []string{"list", "watch"}) {
			t.Errorf("a permission is left: %v", r)
		}
	}
	for key, o := range render(t) {
		if o.GetAnnotations()["cert-manager.io/inject-ca-from"] != "" {
			t.Errorf("without cert-manager, %s asks it for a CA", key)
		}
	}
}

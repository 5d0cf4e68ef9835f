//go:build integration

package chart

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/skyhook-operator/skyhook/internal/webhook"
)

const configurationKey = "ValidatingWebhookConfiguration/" + webhook.Configuration

func TestWebhooks(t *testing.T) {
	all := render(t)
	type called struct {
		path       string
		resources  []string
		operations []admissionregistrationv1.OperationType
	}
	const (
		create = admissionregistrationv1.Create
		update = admissionregistrationv1.Update
	)
	want := map[string]called{
		webhook.SkyhookName: {webhook.SkyhookPath, []string{"skyhooks"}, []admissionregistrationv1.OperationType{create, update}},
		webhook.PolicyName: {
			webhook.PolicyPath, []string{"deploymentpolicies"}, []admissionregistrationv1.OperationType{create, update, admissionregistrationv1.Delete},
		},
	}
	configuration := get[*admissionregistrationv1.ValidatingWebhookConfiguration](t, all, configurationKey)
	if len(configuration.Webhooks) != len(want) {
		t.Errorf("%d webhooks, want %d", len(configuration.Webhooks), len(want))
	}
	for _, w := range configuration.Webhooks {
		rule, c := w.Rules[0], want[w.Name]
		if *w.ClientConfig.Service.Path != c.path || !slices.Equal(rule.Resources, c.resources) || !slices.Equal(rule.Operations, c.operations) {
			t.Errorf("%s: path %s, rule %v", w.Name, *w.ClientConfig.Service.Path, rule)
		}
		if len(w.Rules) != 1 || !slices.Equal(rule.APIGroups, []string{"skyhook.nvidia.com"}) || !slices.Equal(rule.APIVersions, []string{"v1alpha1"}) ||
			*rule.Scope != admissionregistrationv1.AllScopes {
			t.Errorf("%s: rules %v", w.Name, w.Rules)
		}
		if *w.FailurePolicy != admissionregistrationv1.Fail || *w.MatchPolicy != admissionregistrationv1.Equivalent ||
			*w.SideEffects != admissionregistrationv1.SideEffectClassNone || *w.TimeoutSeconds != 10 || !slices.Equal(w.AdmissionReviewVersions, []string{"v1"}) {
			t.Errorf("%s: %+v", w.Name, w)
		}
		if w.ClientConfig.CABundle != nil {
			t.Errorf("%s: caBundle is rendered, an upgrade would reset it", w.Name)
		}
	}
}

// TestWebhookNamesFollowTheValues: a name or port is the same wherever it is used.
func TestWebhookNamesFollowTheValues(t *testing.T) {
	all := render(t, "--namespace", "ops", "--set", "webhook.secretName=cert,webhook.serviceName=hooks", "--set-json",
		`webhookService={"type":"NodePort","ports":[{"name":"api","port":8443,"targetPort":"webhook-server"}]}`)
	service := get[*corev1.Service](t, all, "Service/hooks")
	if service.Namespace != "ops" || service.Spec.Type != corev1.ServiceTypeNodePort {
		t.Errorf("the Service is in %s, of type %s", service.Namespace, service.Spec.Type)
	}
	pod := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template
	for name, value := range service.Spec.Selector {
		if pod.Labels[name] != value {
			t.Errorf("the Service selects %s=%s, the pods have %q", name, value, pod.Labels[name])
		}
	}
	if i := slices.IndexFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal }); i < 0 {
		t.Errorf("no container port is named %s", service.Spec.Ports[0].TargetPort.StrVal)
	}
	for _, w := range get[*admissionregistrationv1.ValidatingWebhookConfiguration](t, all, configurationKey).Webhooks {
		if s := w.ClientConfig.Service; s.Name != "hooks" || s.Namespace != "ops" || *s.Port != 8443 {
			t.Errorf("%s calls %s/%s:%d", w.Name, s.Namespace, s.Name, *s.Port)
		}
	}
	env := map[string]string{}
	for _, variable := range pod.Spec.Containers[0].Env {
		env[variable.Name] = variable.Value
	}
	if env["WEBHOOK_SECRET_NAME"] != "cert" || env["WEBHOOK_SERVICE_NAME"] != "hooks" {
		t.Errorf("the operator is told %v", env)
	}
}

// TestWebhookPermissions: the operator may read and write one Secret and one configuration.
func TestWebhookPermissions(t *testing.T) {
	all := render(t, "--set", "webhook.secretName=cert")
	own := get[*rbacv1.Role](t, all, "Role/skyhook-operator-manager-role").Rules
	cluster := get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules
	for _, verb := range []string{"get", "list", "watch", "update"} {
		if !mayNamed(own, "", "secrets", verb, []string{"cert"}) {
			t.Errorf("the operator may not %s its certificate", verb)
		}
	}
	for _, verb := range []string{"list", "watch", "patch"} {
		if !mayNamed(cluster, "admissionregistration.k8s.io", "validatingwebhookconfigurations", verb, []string{webhook.Configuration}) {
			t.Errorf("the operator may not %s its configuration", verb)
		}
	}
}

func TestWithoutWebhooks(t *testing.T) {
	all := render(t, "--set", "webhook.enable=false")
	for key := range all {
		if _, isService := all[key].(*corev1.Service); isService && key != metricsServiceKey || key == configurationKey {
			t.Errorf("%s is rendered", key)
		}
	}
	container := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	if env["ENABLE_WEBHOOKS"] != "false" || len(container.Ports) != 2 {
		t.Errorf("ENABLE_WEBHOOKS is %q, ports are %v", env["ENABLE_WEBHOOKS"], container.Ports)
	}
	own := get[*rbacv1.Role](t, all, "Role/skyhook-operator-manager-role").Rules
	cluster := get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules
	for _, r := range append(cluster, own...) {
		if slices.Contains(r.Resources, "secrets") || slices.Contains(r.Resources, "validatingwebhookconfigurations") {
			t.Errorf("a permission is left: %v", r)
		}
	}
}

//go:build integration

package chart

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const (
	metricsServiceKey = "Service/skyhook-operator-controller-manager-metrics-service"
	metricsReaderKey  = "ClusterRole/skyhook-operator-metrics-reader"
)

func TestMetricsAreGuarded(t *testing.T) {
	all := render(t)
	if got := environmentOf(t, all)["METRICS_SECURE"]; got != "true" {
		t.Errorf("METRICS_SECURE is %q", got)
	}
	operator := get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules
	if !may(operator, "authentication.k8s.io", "tokenreviews", "create") || !may(operator, "authorization.k8s.io", "subjectaccessreviews", "create") {
		t.Error("the operator may not ask whose a token is and what they may")
	}
	want := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if rules := get[*rbacv1.ClusterRole](t, all, metricsReaderKey).Rules; marshal(t, rules) != marshal(t, want) {
		t.Errorf("readers of metrics may %v", rules)
	}
}

func TestMetricsInTheOpen(t *testing.T) {
	all := render(t, "--set", "metrics.secure=false")
	if got := environmentOf(t, all)["METRICS_SECURE"]; got != "false" {
		t.Errorf("METRICS_SECURE is %q", got)
	}
	operator := get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules
	if may(operator, "authentication.k8s.io", "tokenreviews", "create") || may(operator, "authorization.k8s.io", "subjectaccessreviews", "create") {
		t.Error("a permission is left")
	}
	if _, exists := all[metricsReaderKey]; exists {
		t.Error("there is a role for what anybody may")
	}
}

func TestMetricsServiceReachesThem(t *testing.T) {
	all := render(t, "--set", "controllerManager.manager.env.metricsPort=:7777")
	service := get[*corev1.Service](t, all, metricsServiceKey)
	pod := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template
	for name, value := range service.Spec.Selector {
		if pod.Labels[name] != value {
			t.Errorf("the Service selects %s=%s, the pods have %q", name, value, pod.Labels[name])
		}
	}
	i := slices.IndexFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal })
	if i < 0 || pod.Spec.Containers[0].Ports[i].ContainerPort != 7777 || service.Spec.Ports[0].Port != 8443 {
		t.Errorf("the Service's port is %+v", service.Spec.Ports[0])
	}
	if name := environmentOf(t, all)["METRICS_SERVICE_NAME"]; "Service/"+name != metricsServiceKey {
		t.Errorf("the operator is told that the Service is %s", name)
	}
}

func TestReaderOfMetrics(t *testing.T) {
	const key = "ClusterRoleBinding/skyhook-operator-metrics-reader-rolebinding"
	if _, exists := render(t)[key]; exists {
		t.Error("somebody may read metrics by default")
	}
	all := render(t, "--set", "metrics.addServiceAccountBinding=true,metrics.serviceAccountName=prom,metrics.serviceAccountNamespace=watch")
	binding := get[*rbacv1.ClusterRoleBinding](t, all, key)
	want := rbacv1.Subject{Kind: "ServiceAccount", Name: "prom", Namespace: "watch"}
	if "ClusterRole/"+binding.RoleRef.Name != metricsReaderKey || !slices.Equal(binding.Subjects, []rbacv1.Subject{want}) {
		t.Errorf("%v may do what %s says", binding.Subjects, binding.RoleRef.Name)
	}
}

// monitor is what the tests look at of a ServiceMonitor, whose types are not ours to depend on.
type monitor struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		Selector  struct{ MatchLabels map[string]string }
		Endpoints []struct {
			Port, Path, Scheme, BearerTokenFile string
			TLSConfig                           struct {
				ServerName         string
				InsecureSkipVerify bool
				CA                 struct{ Secret struct{ Name, Key string } }
			}
		}
	}
}

func renderMonitor(t *testing.T, args ...string) monitor {
	t.Helper()
	out, err := template(t, append([]string{"--show-only", "templates/monitors.yaml", "--set", "metrics.serviceMonitor.enable=true"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		if !strings.Contains(document, "kind: ServiceMonitor") {
			continue
		}
		var m monitor
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			t.Fatal(err)
		}
		if len(m.Spec.Endpoints) != 1 {
			t.Fatalf("endpoints are %v", m.Spec.Endpoints)
		}
		return m
	}
	t.Fatal("there is no ServiceMonitor")
	return monitor{}
}

// TestServiceMonitor: Prometheus finds the Service, shows its token, and verifies whom it talks to.
func TestServiceMonitor(t *testing.T) {
	m := renderMonitor(t, "--set", "metrics.serviceMonitor.labels.release=prom,webhook.secretName=cert")
	service := get[*corev1.Service](t, render(t), metricsServiceKey)
	for name, value := range m.Spec.Selector.MatchLabels {
		if service.Labels[name] != value {
			t.Errorf("it selects %s=%s, the Service has %q", name, value, service.Labels[name])
		}
	}
	e := m.Spec.Endpoints[0]
	if m.Metadata.Labels["release"] != "prom" || e.Port != service.Spec.Ports[0].Name || e.Path != "/metrics" || e.Scheme != "https" || e.BearerTokenFile == "" {
		t.Errorf("labels %v, endpoint %+v", m.Metadata.Labels, e)
	}
	if c := e.TLSConfig; c.ServerName != service.Name+".skyhook.svc" || c.CA.Secret.Name != "cert" || c.CA.Secret.Key != "ca.crt" || c.InsecureSkipVerify {
		t.Errorf("it verifies by %+v", c)
	}
	if c := renderMonitor(t, "--set", "webhook.enable=false").Spec.Endpoints[0].TLSConfig; !c.InsecureSkipVerify || c.CA.Secret.Name != "" {
		t.Errorf("without webhooks it verifies by %+v", c)
	}
	if e := renderMonitor(t, "--set", "metrics.secure=false").Spec.Endpoints[0]; e.Scheme != "" || e.BearerTokenFile != "" {
		t.Errorf("the token is sent in the open: %+v", e)
	}
}

// TestPodMonitor: it selects the operator's pods, by a port that they have.
func TestPodMonitor(t *testing.T) {
	args := []string{"--set", "metrics.podMonitor.enable=true,metrics.podMonitor.tokenSecret=token,metrics.podMonitor.labels.release=prom"}
	out, err := template(t, append(args, "--show-only", "templates/monitors.yaml")...)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Kind     string
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			Selector            struct{ MatchLabels map[string]string }
			PodMetricsEndpoints []struct {
				Port, Path, Scheme string
				Authorization      struct{ Credentials struct{ Name, Key string } }
				TLSConfig          struct{ ServerName string }
			}
		}
	}
	if err := yaml.Unmarshal(out, &m); err != nil || m.Kind != "PodMonitor" || m.Metadata.Labels["release"] != "prom" || len(m.Spec.PodMetricsEndpoints) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	pod := get[*appsv1.Deployment](t, render(t), deploymentKey).Spec.Template
	for name, value := range m.Spec.Selector.MatchLabels {
		if pod.Labels[name] != value {
			t.Errorf("it selects %s=%s, the pods have %q", name, value, pod.Labels[name])
		}
	}
	e := m.Spec.PodMetricsEndpoints[0]
	if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == e.Port }) {
		t.Errorf("no port is named %s", e.Port)
	}
	if e.Scheme != "https" || e.Authorization.Credentials.Name != "token" || e.Authorization.Credentials.Key != "token" || e.TLSConfig.ServerName == "" {
		t.Errorf("it scrapes by %+v", e)
	}
}

// environmentOf returns the variables of the operator that have a value of their own.
func environmentOf(t *testing.T, all objects) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, variable := range get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec.Containers[0].Env {
		env[variable.Name] = variable.Value
	}
	return env
}

// TestPrometheusRule: the chart's alerts are those of the file that promtool tests, each with the address of its page.
func TestPrometheusRule(t *testing.T) {
	if out, err := template(t, "--show-only", "templates/prometheusrule.yaml"); err == nil {
		t.Errorf("by default there are rules, without anybody to read them:\n%s", out)
	}
	out, err := template(t, "--show-only", "templates/prometheusrule.yaml", "--set", "metrics.prometheusRule.enable=true",
		"--set", "metrics.prometheusRule.labels.release=prom,metrics.prometheusRule.alertLabels.team=nodes",
		"--set", "metrics.prometheusRule.runbooks=https://wiki.example.com/alerts/")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Metadata struct{ Labels map[string]string }
		Spec     map[string]any
	}
	text, errFile := os.ReadFile(filepath.Join(root, "charts/skyhook-operator/files/alerts.yaml"))
	var want map[string]any
	if err := errors.Join(errFile, yaml.Unmarshal(out, &got), yaml.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	if got.Metadata.Labels["release"] != "prom" {
		t.Errorf("labels are %v", got.Metadata.Labels)
	}
	for _, rule := range want["groups"].([]any)[0].(map[string]any)["rules"].([]any) {
		rule.(map[string]any)["labels"].(map[string]any)["team"] = "nodes"
		rule.(map[string]any)["annotations"].(map[string]any)["runbook_url"] = "https://wiki.example.com/alerts/" +
			rule.(map[string]any)["alert"].(string) + ".md"
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("the file (-) and the chart (+):\n%s", diff)
	}
}

// TestDashboard: Grafana's sidecar finds the dashboard by a label, and gets it as it is.
func TestDashboard(t *testing.T) {
	const key = "ConfigMap/skyhook-skyhook-operator-controller-manager-dashboard"
	if _, exists := render(t)[key]; exists {
		t.Error("it is there by default, without a Grafana")
	}
	all := render(t, "--set", "metrics.dashboard.enable=true,metrics.dashboard.namespace=monitoring")
	got := get[*corev1.ConfigMap](t, all, key)
	want, err := os.ReadFile(filepath.Join(root, "charts/skyhook-operator/files/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "monitoring" || got.Labels["grafana_dashboard"] != "1" || got.Data["skyhook-dashboard.json"] != string(want) {
		t.Errorf("namespace %s, labels %v, %d bytes of %d", got.Namespace, got.Labels, len(got.Data["skyhook-dashboard.json"]), len(want))
	}
}

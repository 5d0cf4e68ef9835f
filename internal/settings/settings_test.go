package settings_test

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok
	}
}

func defaults() settings.Options {
	return settings.Options{
		Workload: workload.Options{
			Namespace: "skyhook", AgentImage: "ghcr.io/skyhook-operator/skyhook/agent:1.2.3",
			CopyDirRoot: "/var/lib/skyhook", AgentLogRoot: "/var/log/skyhook", PriorityClass: "skyhook-packages",
			PinImages: true, InterruptMemory: resource.MustParse("256Mi"),
			RuntimeTaint: corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule},
		},
		Metrics:      settings.MetricsOptions{Address: ":8080", Secure: true, Service: "skyhook-operator-controller-manager-metrics-service"},
		ProbeAddress: ":8081", PprofAddress: "0", LogLevel: slog.LevelInfo, LogEncoder: settings.EncoderJSON, Version: "1.2.3",
		ClusterDomain: "cluster.local", Reapply: lifecycle.Reapply{Hosts: true},
		Webhook: settings.WebhookOptions{Enabled: true, Managed: true, Secret: "webhook-cert", Service: "skyhook-operator-webhook-service", Address: ":9443"},
	}
}

// TestOptions: each variable changes one option.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name      string
		variables map[string]string
		want      func(*settings.Options)
	}{
		{"defaults", nil, func(*settings.Options) {}},
		{"own pod", map[string]string{"POD_NAME": "manager-a"}, func(o *settings.Options) { o.PodName = "manager-a" }},
		{"namespace", map[string]string{"NAMESPACE": "ops"}, func(o *settings.Options) { o.Workload.Namespace = "ops" }},
		{"agent", map[string]string{"AGENT_IMAGE": "x/a@sha256:1"}, func(o *settings.Options) { o.Workload.AgentImage = "x/a@sha256:1" }},
		{"copies", map[string]string{"COPY_DIR_ROOT": "/opt/s"}, func(o *settings.Options) { o.Workload.CopyDirRoot = "/opt/s" }},
		{"logs", map[string]string{"AGENT_LOG_ROOT": "/opt/l"}, func(o *settings.Options) { o.Workload.AgentLogRoot = "/opt/l" }},
		{"pull secret", map[string]string{"IMAGE_PULL_SECRET": "pull"}, func(o *settings.Options) { o.Workload.ImagePullSecret = "pull" }},
		{"an empty pull secret is none", map[string]string{"IMAGE_PULL_SECRET": ""}, func(*settings.Options) {}},
		{"priority", map[string]string{"PACKAGE_PRIORITY_CLASS": "p"}, func(o *settings.Options) { o.Workload.PriorityClass = "p" }},
		{"no priority", map[string]string{"PACKAGE_PRIORITY_CLASS": ""}, func(o *settings.Options) { o.Workload.PriorityClass = "" }},
		{"time of stages", map[string]string{"DEFAULT_STAGE_TIMEOUT": "1h"}, func(o *settings.Options) { o.Limits.StageTimeout = time.Hour }},
		{"no time of stages", map[string]string{"DEFAULT_STAGE_TIMEOUT": "0", "DEFAULT_MAX_RETRIES": ""}, func(*settings.Options) {}},
		{"retries", map[string]string{"DEFAULT_MAX_RETRIES": "0"}, func(o *settings.Options) { o.Limits.MaxRetries = new(int32(0)) }},
		{"memory of interrupts", map[string]string{"INTERRUPT_MEMORY": "1Gi"}, func(o *settings.Options) { o.Workload.InterruptMemory = resource.MustParse("1Gi") }},
		{"metrics", map[string]string{"METRICS_PORT": ":9"}, func(o *settings.Options) { o.Metrics.Address = ":9" }},
		{"metrics for everybody", map[string]string{"METRICS_SECURE": "false"}, func(o *settings.Options) { o.Metrics.Secure = false }},
		{"metrics service", map[string]string{"METRICS_SERVICE_NAME": "m"}, func(o *settings.Options) { o.Metrics.Service = "m" }},
		{"probes", map[string]string{"PROBE_PORT": ":9"}, func(o *settings.Options) { o.ProbeAddress = ":9" }},
		{"profiles", map[string]string{"PPROF_PORT": "localhost:9"}, func(o *settings.Options) { o.PprofAddress = "localhost:9" }},
		{"leader election", map[string]string{"LEADER_ELECTION": "true"}, func(o *settings.Options) { o.LeaderElection = true }},
		{"empty leader election is the default", map[string]string{"LEADER_ELECTION": ""}, func(*settings.Options) {}},
		{"discovery", map[string]string{"DISCOVER_UNINSTALL": "true"}, func(o *settings.Options) { o.DiscoverUninstall = true }},
		{"no pins", map[string]string{"PIN_IMAGES": "false"}, func(o *settings.Options) { o.Workload.PinImages = false }},
		{"drains force", map[string]string{"DRAIN_FORCE": "true"}, func(o *settings.Options) { o.DrainForce = true }},
		{"pull policy", map[string]string{"PACKAGE_PULL_POLICY": "IfNotPresent"}, func(o *settings.Options) { o.Workload.PullPolicy = "IfNotPresent" }},
		{"pull policy by kind", map[string]string{"PACKAGE_PULL_POLICY": "Auto"}, func(*settings.Options) {}},
		{"mirror", map[string]string{"PACKAGE_REGISTRY": "m.example:5000/copies/"}, func(o *settings.Options) {
			o.Workload.Mirror, o.Images.Mirror = "m.example:5000/copies", "m.example:5000/copies"
		}},
		{"no mirror", map[string]string{"PACKAGE_REGISTRY": ""}, func(*settings.Options) {}},
		{"tolerations", map[string]string{"DEFAULT_TOLERATIONS": `[{"key":"nvidia.com/gpu","operator":"Exists"},{"key":"k","value":"v","effect":"NoExecute","tolerationSeconds":5}]`}, func(o *settings.Options) {
			o.Workload.Tolerations = []corev1.Toleration{
				{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists},
				{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))},
			}
		}},
		{"no tolerations", map[string]string{"DEFAULT_TOLERATIONS": "[]"}, func(*settings.Options) {}},
		{"digests", map[string]string{"REQUIRE_DIGEST": "true"}, func(o *settings.Options) { o.Images.RequireDigest = true }},
		{"registries", map[string]string{"ALLOWED_REGISTRIES": "ghcr.io/org, r:5000/"}, func(o *settings.Options) { o.Images.Registries = []string{"ghcr.io/org", "r:5000"} }},
		{"all registries", map[string]string{"ALLOWED_REGISTRIES": " "}, func(*settings.Options) {}},
		{"agents", map[string]string{"FORBID_AGENT_IMAGE_OVERRIDE": "true"}, func(o *settings.Options) { o.Images.ForbidAgentOverride = true }},
		{"level", map[string]string{"LOG_LEVEL": "debug"}, func(o *settings.Options) { o.LogLevel = slog.LevelDebug }},
		{"level in capitals", map[string]string{"LOG_LEVEL": "WARN"}, func(o *settings.Options) { o.LogLevel = slog.LevelWarn }},
		{"encoder", map[string]string{"LOG_ENCODER": "console"}, func(o *settings.Options) { o.LogEncoder = settings.EncoderConsole }},
		{"no webhooks", map[string]string{"ENABLE_WEBHOOKS": "false"}, func(o *settings.Options) { o.Webhook.Enabled = false }},
		{"another cluster domain", map[string]string{"KUBERNETES_CLUSTER_DOMAIN": "k8s.example"}, func(o *settings.Options) { o.ClusterDomain = "k8s.example" }},
		{"a certificate of somebody else", map[string]string{"WEBHOOK_MANAGE_CERTIFICATE": "false"}, func(o *settings.Options) { o.Webhook.Managed = false }},
		{"webhook secret", map[string]string{"WEBHOOK_SECRET_NAME": "cert"}, func(o *settings.Options) { o.Webhook.Secret = "cert" }},
		{"webhook service", map[string]string{"WEBHOOK_SERVICE_NAME": "hooks"}, func(o *settings.Options) { o.Webhook.Service = "hooks" }},
		{"reboots by themselves", map[string]string{"REAPPLY_ON_REBOOT": "true"}, func(o *settings.Options) { o.Reapply.Reboots = true }},
		{"replaced hosts", map[string]string{"DETECT_REPLACED_HOSTS": "false"}, func(o *settings.Options) { o.Reapply.Hosts = false }},
		{"webhook address", map[string]string{"WEBHOOK_PORT": "127.0.0.1:9"}, func(o *settings.Options) { o.Webhook.Address = "127.0.0.1:9" }},
		{"taint", map[string]string{"RUNTIME_REQUIRED_TAINT": "k=v:NoExecute"}, func(o *settings.Options) {
			o.Workload.RuntimeTaint = corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}
		}},
		{"taint without a value", map[string]string{"RUNTIME_REQUIRED_TAINT": "a.b/k:PreferNoSchedule"}, func(o *settings.Options) {
			o.Workload.RuntimeTaint = corev1.Taint{Key: "a.b/k", Effect: corev1.TaintEffectPreferNoSchedule}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := defaults()
			c.want(&want)
			got, err := settings.FromEnvironment(lookup(c.variables), "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestOptionsRefused: a bad variable is named with its value, and all of them at once.
func TestOptionsRefused(t *testing.T) {
	bad := map[string][]string{
		"NAMESPACE":            {"", " "},
		"AGENT_IMAGE":          {"", "x/agent"},
		"COPY_DIR_ROOT":        {"", "var/lib", "./x"},
		"AGENT_LOG_ROOT":       {"", "log"},
		"METRICS_PORT":         {""},
		"METRICS_SECURE":       {"yes"},
		"METRICS_SERVICE_NAME": {""},
		"PROBE_PORT":           {""},
		"LEADER_ELECTION":      {"yes", "2"},
		"ENABLE_WEBHOOKS":      {"yes"},
		"WEBHOOK_SECRET_NAME":  {""},
		"WEBHOOK_SERVICE_NAME": {""},
		"WEBHOOK_PORT":         {"", "9443", ":0", ":x", ":70000"},
		"DISCOVER_UNINSTALL":   {"yes", "2"},
		"DRAIN_FORCE":          {"yes", "2"},
		"LOG_LEVEL":            {"", "loud"},
		"ALLOWED_REGISTRIES":   {"https://ghcr.io", "ghcr.io/Org", "a b"},
		"PACKAGE_REGISTRY":     {"https://m.example", "mirror", "m.example/A"},
		"DEFAULT_TOLERATIONS": {
			"nvidia.com/gpu", `{"key":"k"}`, `[{"key":"k"}] x`, `[{"kye":"k"}]`, `[{"operator":"Equal"}]`, `[{"key":"k","operator":"Exists","value":"v"}]`,
			`[{"key":"k","operator":"Gt","value":"1"}]`, `[{"key":"k","effect":"Never"}]`, `[{"key":"k","tolerationSeconds":1}]`,
		},
		"KUBERNETES_CLUSTER_DOMAIN":  {""},
		"WEBHOOK_MANAGE_CERTIFICATE": {"yes"},
		"PACKAGE_PULL_POLICY":        {"", "Never", "always"},
		"LOG_ENCODER":                {"", "xml", "JSON"},
		"DEFAULT_STAGE_TIMEOUT":      {"soon", "-1h", "5", "10ms"},
		"DEFAULT_MAX_RETRIES":        {"many", "-1", "1.5", "4294967296"},
		"INTERRUPT_MEMORY":           {"", "much", "0", "256", "-1Gi"},
		"RUNTIME_REQUIRED_TAINT":     {"", "k", "k=v", "k=v:Never", "=v:NoSchedule", ":NoSchedule", "k=v:NoSchedule-", "a b=v:NoSchedule", "bad/key/x=v:NoSchedule", "k=a b:NoSchedule", "UPPER.example/k:NoSchedule"},
	}
	all := map[string]string{}
	for name, values := range bad {
		for _, value := range values {
			all[name] = value
			_, err := settings.FromEnvironment(lookup(map[string]string{name: value}), "1.2.3")
			if err == nil || !strings.Contains(err.Error(), "environment variable "+name+" is "+strconv.Quote(value)) {
				t.Errorf("%s=%q: error %v does not name it", name, value, err)
			}
		}
	}
	_, err := settings.FromEnvironment(lookup(all), "1.2.3")
	if err == nil {
		t.Fatal("all variables are bad, but there is no error")
	}
	for name := range bad {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s:\n%v", name, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SKYHOOK_TEST_VARIABLE", "x")
	if v, ok := settings.Environment("SKYHOOK_TEST_VARIABLE"); v != "x" || !ok {
		t.Errorf("got %q, %t", v, ok)
	}
	if _, ok := settings.Environment("SKYHOOK_TEST_VARIABLE_UNSET"); ok {
		t.Error("a variable that is not set is found")
	}
}

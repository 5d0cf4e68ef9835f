//go:build integration

package chart

import (
	"strings"
	"testing"
)

func TestRefusedValues(t *testing.T) {
	const env = "controllerManager.manager.env."
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"namespace default", []string{"--namespace", "default"}, "not allowed for security reasons"},
		{
			"two ways of placement",
			[]string{"--set", "controllerManager.selectors.a=b", "--set-json", `controllerManager.nodeAffinity.matchExpressions=[{"key":"pool","operator":"Exists"}]`},
			"Cannot specify both controllerManager.selectors and controllerManager.nodeAffinity.matchExpressions",
		},
		{
			"budget that blocks every drain",
			[]string{"--set", "controllerManager.replicas=1"},
			"minAvailable must be less than controllerManager.replicas, or nodes could never be drained; set it to 0 for no budget",
		},
		{
			"replicas without leader election",
			[]string{"--set-string", "controllerManager.manager.env.leaderElection=false"},
			"leaderElection must be true when controllerManager.replicas is more than 1",
		},
		{"relative folder", []string{"--set", "controllerManager.manager.env.copyDirRoot=var"}, "copyDirRoot"},
		{"unknown level", []string{"--set", "controllerManager.manager.env.logLevel=loud"}, "logLevel"},
		{"taint without effect", []string{"--set", "controllerManager.manager.env.runtimeRequiredTaint=a=b"}, `env.runtimeRequiredTaint is "a=b"; write it as key=value:effect`},
		{"a taint with two slashes", []string{"--set", "controllerManager.manager.env.runtimeRequiredTaint=bad/key/x=a:NoSchedule"}, `env.runtimeRequiredTaint is "bad/key/x=a:NoSchedule"`},
		{"a taint with a blank", []string{"--set", "controllerManager.manager.env.runtimeRequiredTaint=a b:NoSchedule"}, `env.runtimeRequiredTaint is "a b:NoSchedule"`},
		{"a taint with a long name", []string{"--set", "controllerManager.manager.env.runtimeRequiredTaint=" + strings.Repeat("a", 64) + ":NoSchedule"}, `write it as key=value:effect`},
		{"short digest", []string{"--set", "controllerManager.manager.image.digest=sha256:abc"}, "digest"},
		{"webhooks neither on nor off", []string{"--set", "webhook.enable=maybe"}, "enable"},
		{"name of a secret that is none", []string{"--set", "webhook.secretName=Webhook_Cert"}, "secretName"},
		{"no name of a service", []string{"--set", "webhook.serviceName="}, "serviceName"},
		{"no port for webhooks", []string{"--set-json", "webhookService.ports=[]"}, "ports"},
		{"no budget is left", []string{"--set", "controllerManager.podDisruptionBudget.minAvailable=51%"}, "minAvailable must be less than controllerManager.replicas"},
		{"neither number nor percentage", []string{"--set", "controllerManager.podDisruptionBudget.minAvailable=half"}, "'half' does not match pattern"},
		{"a certificate for nothing", []string{"--set", "webhook.certManager.enable=true,webhook.enable=false"}, "webhook.certManager.enable needs webhook.enable"},
		{
			"series twice",
			[]string{"--set", "metrics.podMonitor.enable=true,metrics.serviceMonitor.enable=true,metrics.podMonitor.tokenSecret=a"},
			"must not both be true",
		},
		{"a PodMonitor that may not scrape", []string{"--set", "metrics.podMonitor.enable=true"}, "metrics.podMonitor.tokenSecret must name a Secret"},
		{"a role that is not there", []string{"--set", "rbac.aggregateViewerRole=true"}, "rbac.aggregateViewerRole needs rbac.createSkyhookViewerRole"},
		{"a mirror with a scheme", []string{"--set", env + "packageRegistry=https://r.example"}, `env.packageRegistry is "https://r.example"; name a registry without a scheme`},
		{"a mirror that is a folder of Docker Hub", []string{"--set", env + "packageRegistry=mirror"}, `env.packageRegistry is "mirror"; name a registry`},
		{"an allowed registry with a scheme", []string{"--set", env + "allowedRegistries={ghcr.io/org,https://r.example}"}, `env.allowedRegistries has "https://r.example"; name a registry without a scheme`},
		{"a toleration as text", []string{"--set", env + "defaultTolerations=nvidia.com/gpu"}, "/controllerManager/manager/env/defaultTolerations': got string, want null or array"},
		{"a toleration with a typing error", []string{"--set-json", env + `defaultTolerations=[{"kye":"nvidia.com/gpu"}]`}, "/controllerManager/manager/env/defaultTolerations/0': additional properties 'kye' not allowed"},
		{"an operator of labels", []string{"--set-json", env + `defaultTolerations=[{"key":"a","operator":"In"}]`}, "/defaultTolerations/0/operator': value must be one of 'Exists', 'Equal'"},
		{"unknown pull policy", []string{"--set", "controllerManager.manager.image.pullPolicy=Sometimes"}, "/controllerManager/manager/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		{"a pull policy that nothing has", []string{"--set", "controllerManager.manager.agent.pullPolicy=Always"}, "/controllerManager/manager/agent': additional properties 'pullPolicy' not allowed"},
		{"a value with a typing error", []string{"--set", "webhooks.enable=false"}, "additional properties 'webhooks' not allowed"},
		{"an issuer with an unknown field", []string{"--set", "webhook.certManager.enable=true,webhook.certManager.issuerRef.title=a"}, "/webhook/certManager/issuerRef': additional properties 'title' not allowed"},
		{"limits that are only on", []string{"--set", "limitRange=true"}, "limitRange cannot be true: it needs limits"},
		{"port out of range", []string{"--set-json", `webhookService.ports=[{"port":70000}]`}, "/webhookService/ports/0/port': maximum: got 70,000, want 65,535"},
		{"replicas as text", []string{"--set-string", "controllerManager.replicas=two"}, "replicas"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := template(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// TestOldValuesStillRender makes sure that a values file for the existing chart is not refused for parts that this one
// has not got.
func TestOldValuesStillRender(t *testing.T) {
	render(t, "--set", "webhook.enable=false,webhook.removalImage=bitnami/kubectl,cleanup.enabled=true,metricsService.type=ClusterIP,controllerManager.kubeRbacProxy.image.tag=v1,kubernetesClusterDomain=x")
}

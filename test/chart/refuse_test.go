//go:build integration

package chart

import (
	"strings"
	"testing"
)

func TestRefusedValues(t *testing.T) {
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
			"minAvailable must be less than controllerManager.replicas",
		},
		{
			"replicas without leader election",
			[]string{"--set-string", "controllerManager.manager.env.leaderElection=false"},
			"leaderElection must be true when controllerManager.replicas is more than 1",
		},
		{"relative folder", []string{"--set", "controllerManager.manager.env.copyDirRoot=var"}, "copyDirRoot"},
		{"unknown level", []string{"--set", "controllerManager.manager.env.logLevel=loud"}, "logLevel"},
		{"taint without effect", []string{"--set", "controllerManager.manager.env.runtimeRequiredTaint=a=b"}, "runtimeRequiredTaint"},
		{"short digest", []string{"--set", "controllerManager.manager.image.digest=sha256:abc"}, "digest"},
		{"webhooks neither on nor off", []string{"--set", "webhook.enable=maybe"}, "enable"},
		{"name of a secret that is none", []string{"--set", "webhook.secretName=Webhook_Cert"}, "secretName"},
		{"no name of a service", []string{"--set", "webhook.serviceName="}, "serviceName"},
		{"no port for webhooks", []string{"--set-json", "webhookService.ports=[]"}, "ports"},
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

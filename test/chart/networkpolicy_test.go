//go:build integration

package chart

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const networkPolicyKey = "NetworkPolicy/skyhook-skyhook-operator-controller-manager"

// admitted returns who may reach which port, by port.
func admitted(p *networkingv1.NetworkPolicy) map[int32][]networkingv1.NetworkPolicyPeer {
	ports := map[int32][]networkingv1.NetworkPolicyPeer{}
	for _, rule := range p.Spec.Ingress {
		for _, port := range rule.Ports {
			ports[port.Port.IntVal] = rule.From
		}
	}
	return ports
}

// TestNetworkPolicy: the operator answers on the ports that it serves, and on no other; what it calls is not limited.
func TestNetworkPolicy(t *testing.T) {
	all := render(t, "--set", "controllerManager.manager.env.probePort=:9999", "--set", "controllerManager.manager.env.metricsPort=127.0.0.1:7777")
	policy := get[*networkingv1.NetworkPolicy](t, all, networkPolicyKey)
	pod := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template
	for name, value := range policy.Spec.PodSelector.MatchLabels {
		if pod.Labels[name] != value {
			t.Errorf("it selects %s=%s, the pods have %q", name, value, pod.Labels[name])
		}
	}
	var served []int32
	for _, port := range pod.Spec.Containers[0].Ports {
		served = append(served, port.ContainerPort)
	}
	slices.Sort(served)
	ports := admitted(policy)
	if got := slices.Sorted(maps.Keys(ports)); !slices.Equal(got, served) {
		t.Errorf("others may reach %v, the operator serves %v", got, served)
	}
	for port, from := range ports {
		if from != nil {
			t.Errorf("port %d is for %v only, though nobody said so", port, from)
		}
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) || policy.Namespace != "skyhook" {
		t.Errorf("it is in %s, about %v", policy.Namespace, policy.Spec.PolicyTypes)
	}
}

func TestNetworkPolicyNamesCallers(t *testing.T) {
	policy := get[*networkingv1.NetworkPolicy](t, render(t,
		"--set-json", `networkPolicy.webhookFrom=[{"ipBlock":{"cidr":"10.0.0.1/32"}}]`,
		"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]`), networkPolicyKey)
	ports := admitted(policy)
	if from := ports[9443]; len(from) != 1 || from[0].IPBlock == nil || from[0].IPBlock.CIDR != "10.0.0.1/32" {
		t.Errorf("webhooks are for %v", from)
	}
	if from := ports[8080]; len(from) != 1 || from[0].NamespaceSelector == nil {
		t.Errorf("metrics are for %v", from)
	}
	if from := ports[8081]; from != nil {
		t.Errorf("probes are for %v", from)
	}
}

func TestNetworkPolicyIsLeftOut(t *testing.T) {
	for _, args := range []string{"networkPolicy.enable=false", "useHostNetwork=true"} {
		if _, exists := render(t, "--set", args)[networkPolicyKey]; exists {
			t.Errorf("--set %s renders it", args)
		}
	}
	policy := get[*networkingv1.NetworkPolicy](t, render(t, "--set", "webhook.enable=false"), networkPolicyKey)
	if _, open := admitted(policy)[9443]; open {
		t.Error("without webhooks their port may be reached")
	}
}

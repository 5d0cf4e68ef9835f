//go:build e2e && nightly

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/install"
)

// leaseName is that of the leader.
const leaseName = "3c22c1ae.nvidia.com"

// takeover is how long work may rest when the leader is killed. Its lease of 12 s counts from when another replica saw
// it renewed; that one looks every 1.5 to 3.3 s (RetryPeriod and JitterFactor of client-go).
const takeover = 20 * time.Second

// TestChart: what Helm does with the chart while Skyhooks are there. An upgrade with other values and its rollback run
// nothing again on a node, another replica continues a rollout when the leader is killed, and uninstalling leaves the
// nodes and the namespace as they were.
func TestChart(t *testing.T) {
	const name, file = "charted", "/skyhook-charted"
	ownCluster(t)
	before := map[string]string{}
	for _, node := range here(t).Nodes() {
		before[node] = portrait(t, node)
	}
	w := &wish{
		name: name, nodes: here(t).Nodes(), packages: map[string]v1alpha1.Package{"a": scripted(undoable(file))},
		spec: map[string]any{"interruptionBudget": map[string]any{"count": 1}},
	}
	w.install(t, file)
	t.Cleanup(func() { reinstall(t) }) // for the tests that follow, whatever happened here

	t.Run("upgrade with other values, and rollback", func(t *testing.T) {
		helm(t, "upgrade", install.Release, filepath.Join(root, "charts", "skyhook-operator"), "--reuse-values",
			"--set", "controllerManager.manager.env.logLevel=debug", "--set", "estimatedNodeCount=700")
		settled(t, name, file, "apply")
		helm(t, "rollback", install.Release)
		settled(t, name, file, "apply")
	})
	t.Run("the leader is killed in a rollout", func(t *testing.T) {
		w.change(t, "a", func(p *v1alpha1.Package) {
			p.ConfigMap["config.sh"] = journal(file, "config") + "\nsleep 2"
		})
		untilHolders(t, name, 1)
		killed := killLeader(t)
		rested := nextPod(t, name, killed).Sub(killed)
		t.Logf("the next pod was created %s after the leader was killed", rested.Round(time.Second))
		if rested > takeover {
			t.Errorf("work rested %s", rested)
		}
		settled(t, name, file, "apply", "config")
	})
	t.Run("uninstall", func(t *testing.T) {
		w.delete(t)
		for _, node := range here(t).Nodes() {
			marks(t, node, file, "apply", "config", "uninstall")
		}
		uninstall(t)
		for _, node := range here(t).Nodes() {
			samePortrait(t, node, before[node])
		}
		within(t, patience, name, func() []string { return append(leftInNamespace(t), leftInCluster(t)...) })
	})
}

// settled waits until the operator is as Helm wants it, leads, and finds the Skyhook complete, and checks what ran.
func settled(t *testing.T, name, file string, ran ...string) {
	t.Helper()
	if err := install.Available(t.Context(), here(t).client, patience); err != nil {
		t.Fatal(err)
	}
	within(t, patience, name, func() []string {
		if leader := leaderPod(t); leader == nil || leader.DeletionTimestamp != nil {
			return []string{"no replica leads"}
		}
		return nil
	})
	untilReady(t, name)
	for _, node := range here(t).Nodes() {
		marks(t, node, file, ran...)
	}
}

// uninstall does what docs/install.md says.
func uninstall(t *testing.T) {
	t.Helper()
	here(t).uninstalled.from = here(t).auditSize()
	helm(t, "uninstall", install.Release)
	mustKubectl(t, "", "wait", "--for=delete", "pods", "-n", install.Namespace, "-l", operatorPods, "--timeout=1m")
	mustKubectl(t, "", "delete", "secret/webhook-cert", "lease/"+leaseName, "-n", install.Namespace)
}

func reinstall(t *testing.T) {
	t.Helper()
	if here(t).uninstalled.from != 0 {
		here(t).uninstalled.to = here(t).auditSize()
	}
	if err := here(t).installChart(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// leftInNamespace is what the operator's namespace has that no empty one has.
func leftInNamespace(t *testing.T) []string {
	t.Helper()
	const kinds = "deployments,replicasets,pods,services,configmaps,secrets,leases,serviceaccounts,roles,rolebindings," +
		"controllerrevisions,networkpolicies,poddisruptionbudgets,resourcequotas"
	found := mustKubectl(t, "", "get", kinds, "-n", install.Namespace, "-o", "name")
	return slices.DeleteFunc(strings.Fields(found), func(object string) bool {
		return object == "configmap/kube-root-ca.crt" || object == "serviceaccount/default"
	})
}

// leftInCluster is what the chart installs outside of its namespace, but for the CRDs, which it keeps.
func leftInCluster(t *testing.T) []string {
	t.Helper()
	const kinds = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations," +
		"validatingadmissionpolicies,validatingadmissionpolicybindings"
	found := mustKubectl(t, "", "get", kinds, "-o", "name")
	return slices.DeleteFunc(strings.Fields(found), func(object string) bool { return !strings.Contains(object, "skyhook") })
}

// helm runs Helm in the operator's namespace, in cleanups as well.
func helm(t *testing.T, args ...string) {
	t.Helper()
	if err := install.Helm(context.WithoutCancel(t.Context()), root, here(t).Kubeconfig(), args...); err != nil {
		t.Fatal(err)
	}
}

// leaderPod is the replica that leads, or nil if none does.
func leaderPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var lease coordinationv1.Lease
	if err := here(t).client.Get(t.Context(), client.ObjectKey{Namespace: install.Namespace, Name: leaseName}, &lease); err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_") // the pod, and something random
	if name == "" {
		return nil // it was released
	}
	var pod corev1.Pod
	err := here(t).client.Get(t.Context(), client.ObjectKey{Namespace: install.Namespace, Name: name}, &pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &pod
}

// killLeader ends the process of the replica that leads, with its node left alone, and returns when.
func killLeader(t *testing.T) time.Time {
	t.Helper()
	pod := leaderPod(t)
	if pod == nil {
		t.Fatal("no replica leads")
	}
	// The replicas are on different nodes; the kernel keeps 15 bytes of a process's name.
	onHost(t, pod.Spec.NodeName, "pkill", "-KILL", "-x", "skyhook-operato")
	now := time.Now()
	mustKubectl(t, "", "delete", "pod", "-n", install.Namespace, pod.Name, "--grace-period=0", "--force")
	return now
}

// nextPod waits for a Skyhook's pod that is created after a time, and returns when that was.
func nextPod(t *testing.T, skyhook string, after time.Time) time.Time {
	t.Helper()
	seen := watchAll[*corev1.Pod](t, &corev1.PodList{})
	var created time.Time
	within(t, patience, skyhook, func() []string {
		seen.each(func(p *corev1.Pod) {
			at := p.CreationTimestamp.Time
			if p.Labels["skyhook.nvidia.com/name"] == skyhook && at.After(after) && (created.IsZero() || at.Before(created)) {
				created = at
			}
		})
		if created.IsZero() {
			return []string{"no pod of a stage was created"}
		}
		return nil
	})
	return created
}

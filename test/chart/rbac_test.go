//go:build integration

package chart

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// may says whether rules allow a verb on any object of a resource.
func may(rules []rbacv1.PolicyRule, group, resource, verb string) bool {
	return mayNamed(rules, group, resource, verb, nil)
}

// mayNamed says whether a rule for exactly these names allows a verb.
func mayNamed(rules []rbacv1.PolicyRule, group, resource, verb string, names []string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Equal(r.ResourceNames, names) && slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
	})
}

func TestPermissions(t *testing.T) {
	all := render(t)
	cluster := get[*rbacv1.ClusterRole](t, all, "ClusterRole/skyhook-operator-manager-role").Rules
	own := get[*rbacv1.Role](t, all, "Role/skyhook-operator-manager-role").Rules
	const group = "skyhook.nvidia.com"
	tests := []struct {
		name                  string
		rules                 []rbacv1.PolicyRule
		group, resource, verb string
		want                  bool
	}{
		{"finalizer and version annotation", cluster, group, "skyhooks", "patch", true},
		{"status", cluster, group, "skyhooks/status", "patch", true},
		{"owner references that block deletion", cluster, group, "skyhooks/finalizers", "update", true},
		{"node records", cluster, "", "nodes", "patch", true},
		{"node conditions", cluster, "", "nodes/status", "patch", true},
		{"events", cluster, "events.k8s.io", "events", "create", true},
		{"package pods", own, "", "pods", "create", true},
		{"package config maps", own, "", "configmaps", "update", true},
		{"retained definitions", own, "apps", "controllerrevisions", "create", true},
		{"retained definitions that nobody needs", own, "apps", "controllerrevisions", "delete", true},
		{"leader election", own, "coordination.k8s.io", "leases", "update", true},
		{"never writes a spec", cluster, group, "skyhooks", "update", false},
		{"nor a status as a whole", cluster, group, "skyhooks/status", "update", false},
		{"package pods stay as they are made", own, "", "pods", "update", false},
		{"package pods stay as they are made, in part", own, "", "pods", "patch", false},
		{"retained definitions are renewed in part only", own, "apps", "controllerrevisions", "update", false},
		{"never deletes what users made", cluster, group, "skyhooks", "delete", false},
		{"never makes what users make", cluster, group, "skyhooks", "create", false},
		{"no nodes deleted", cluster, "", "nodes", "delete", false},
		{"no pods elsewhere", cluster, "", "pods", "create", false},
		{"no config maps elsewhere", cluster, "", "configmaps", "get", false},
		{"no secrets anywhere", cluster, "", "secrets", "get", false},
		{"no secrets here", own, "", "secrets", "get", false},
		{"no list of secrets here", own, "", "secrets", "list", false},
		{"the certificate is made", own, "", "secrets", "create", true},
		{"no secrets are made elsewhere", cluster, "", "secrets", "create", false},
		{"no other webhooks", cluster, "admissionregistration.k8s.io", "validatingwebhookconfigurations", "patch", false},
		{"no retained definitions elsewhere", cluster, "apps", "controllerrevisions", "get", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := may(test.rules, test.group, test.resource, test.verb); got != test.want {
				t.Errorf("%s %s.%s: got %t, want %t", test.verb, test.resource, test.group, got, test.want)
			}
		})
	}
	for _, rule := range append(cluster, own...) {
		if slices.Contains(append(append(rule.Verbs, rule.Resources...), rule.APIGroups...), "*") {
			t.Errorf("a rule has a wildcard: %v", rule)
		}
	}
}

// TestPullSecret: the operator reads it only where it asks registries itself.
func TestPullSecret(t *testing.T) {
	const discover = "controllerManager.manager.env.discoverUninstall="
	for _, test := range []struct {
		name string
		args []string
		want bool
	}{
		{"by default", nil, false},
		{"only kubelets pull", []string{"--set", "imagePullSecret=pull"}, false},
		{"images are asked", []string{"--set", "imagePullSecret=pull," + discover + "true"}, true},
		{"images are asked, as text", []string{"--set", "imagePullSecret=pull", "--set-string", discover + "true"}, true},
		{"images are asked without credentials", []string{"--set", discover + "true"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules := get[*rbacv1.Role](t, render(t, test.args...), "Role/skyhook-operator-manager-role").Rules
			if got := mayNamed(rules, "", "secrets", "get", []string{"pull"}); got != test.want {
				t.Errorf("may get the pull secret: %t", got)
			}
			if mayNamed(rules, "", "secrets", "get", []string{""}) || mayNamed(rules, "", "secrets", "list", []string{"pull"}) {
				t.Errorf("may do more: %v", rules)
			}
		})
	}
}

// TestPermissionsFollowTheValues: what is off needs none.
func TestPermissionsFollowTheValues(t *testing.T) {
	alone := render(t, "--set", "controllerManager.replicas=1,controllerManager.podDisruptionBudget=null,controllerManager.manager.env.leaderElection=false")
	if may(get[*rbacv1.Role](t, alone, "Role/skyhook-operator-manager-role").Rules, "coordination.k8s.io", "leases", "update") {
		t.Error("the operator may write leases, though it elects no leader")
	}
}

func TestRolesAreBoundToTheManager(t *testing.T) {
	all := render(t)
	want := rbacv1.Subject{Kind: "ServiceAccount", Name: "skyhook-skyhook-operator-controller-manager", Namespace: "skyhook"}
	cluster := get[*rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding/skyhook-operator-manager-rolebinding")
	own := get[*rbacv1.RoleBinding](t, all, "RoleBinding/skyhook-operator-manager-rolebinding")
	for _, subjects := range [][]rbacv1.Subject{cluster.Subjects, own.Subjects} {
		if !slices.Equal(subjects, []rbacv1.Subject{want}) {
			t.Errorf("subjects are %v, want %v", subjects, want)
		}
	}
}

//go:build integration

package chart

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

const (
	viewerKey = "ClusterRole/skyhook-viewer-role"
	editorKey = "ClusterRole/skyhook-editor-role"
)

// TestRolesOfPeople: they are there when asked for, with these permissions and no others.
func TestRolesOfPeople(t *testing.T) {
	if all := render(t); all[viewerKey] != nil || all[editorKey] != nil {
		t.Error("there are roles for people by default")
	}
	all := render(t, "--set", "rbac.createSkyhookViewerRole=true,rbac.createSkyhookEditorRole=true")
	for key, verbs := range map[string]string{viewerKey: "get list watch", editorKey: "create delete get list patch update watch"} {
		role := get[*rbacv1.ClusterRole](t, all, key)
		for _, r := range role.Rules {
			want := verbs
			if slices.Contains(r.Resources, "skyhooks/status") {
				want = "get" // permits of nodes are there
			}
			if !slices.Equal(r.APIGroups, []string{"skyhook.nvidia.com"}) || strings.Join(r.Verbs, " ") != want {
				t.Errorf("%s has the rule %v", key, r)
			}
		}
		for _, kind := range []string{"skyhooks", "deploymentpolicies"} {
			if !may(role.Rules, "skyhook.nvidia.com", kind, "get") || !may(role.Rules, "skyhook.nvidia.com", kind+"/status", "get") {
				t.Errorf("%s may not read %s", key, kind)
			}
		}
	}
}

// TestNobodyBecomesRootByAggregation: of all roles that the chart can make, only the viewer's becomes part of others,
// only of view, and only if that is asked for.
func TestNobodyBecomesRootByAggregation(t *testing.T) {
	for _, args := range [][]string{{"rbac.aggregateViewerRole=false"}, {"rbac.aggregateViewerRole=true"}} {
		all := render(t, "--set", "rbac.createSkyhookViewerRole=true,rbac.createSkyhookEditorRole=true,"+args[0])
		for key, o := range all {
			for label := range o.GetLabels() {
				if !strings.HasPrefix(label, "rbac.authorization.k8s.io/") {
					continue
				}
				if key != viewerKey || label != "rbac.authorization.k8s.io/aggregate-to-view" || args[0] != "rbac.aggregateViewerRole=true" {
					t.Errorf("with %s, %s has the label %s", args[0], key, label)
				}
			}
		}
		if args[0] == "rbac.aggregateViewerRole=true" && all[viewerKey].GetLabels()["rbac.authorization.k8s.io/aggregate-to-view"] != "true" {
			t.Error("the viewer's role is not part of view")
		}
	}
}

//go:build integration

package cli_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var since = regexp.MustCompile(`(since"?: )"[0-9TZ:-]+"`)

// TestHistory lists the rollouts, and what the operator retains.
func TestHistory(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	s := c.stored("gpu")
	o := workload.Options{Namespace: "default"}
	old := s.DeepCopy()
	p := old.Spec.Packages["tuning"]
	p.Version, p.ConfigMap = "2.0.0", map[string]string{"apply.sh": "true"}
	old.Spec.Packages["tuning"] = p
	now := s.DeepCopy()
	now.Generation = 2
	for _, at := range []*v1alpha1.Skyhook{old, now} {
		rev, err := o.Revision(at, workload.DefinitionOf(at, "tuning"))
		if err != nil {
			t.Fatal(err)
		}
		c.put(rev)
	}
	out, _, err := c.run("", "history", "gpu", "--namespace", "default")
	if err != nil || !strings.Contains(out, "2.0.0") || !strings.Contains(out, "2.1.0") || !strings.Contains(out, "No rollouts are recorded") {
		t.Errorf("%v\n%s", err, out)
	}
	cm := o.History(s, history.Data(rollouts()))
	c.put(cm)
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		out, _, err := c.run("", "history", "gpu", "--namespace", "default", "-o", format)
		if err != nil {
			t.Fatal(err)
		}
		// Definitions are as old as the API server says.
		out, _, _ = strings.Cut(out, "Definitions:")
		golden(t, "history."+format, since.ReplaceAllString(out, "${1}TIME"))
	}
	c.put(newNode("worker-1", nil))
	out, _, err = c.run("", "plan", "gpu", "--namespace", "default")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan-measured", out)
	out, _, err = c.run("", "status", "gpu", "--namespace", "default", "-o", "yaml")
	if err != nil || !strings.Contains(out, "timeLeft: 14m30s") {
		t.Errorf("%v\n%s", err, out)
	}
	cm.Data["rollouts"] = "spoiled"
	if err := c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	out, errs, err := c.run("", "history", "gpu", "--namespace", "default", "-o", "wide")
	if err != nil || !strings.Contains(errs, "Warning: ConfigMap "+cm.Name+": rollouts cannot be read") || !strings.Contains(out, "reboot") {
		t.Errorf("%v\n%s%s", err, errs, out)
	}
}

// TestHistoryWithoutConfigMaps: who may not read them sees the rest.
func TestHistoryWithoutConfigMaps(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	name := metav1.ObjectMeta{Name: "history-guest"}
	c.put(&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"skyhooks"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"list"}},
	}})
	c.put(&rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "guest"}},
	})
	out, errs, err := c.run("", "history", "gpu", "--as", "guest")
	if err != nil || !strings.Contains(errs, "rollouts are not shown") || !strings.Contains(out, "No definitions are retained") {
		t.Errorf("%v\n%s%s", err, errs, out)
	}
}

// rollouts are some of the Skyhook gpu, and how long its stages took.
func rollouts() (history.Rollouts, history.Stages) {
	var all history.Rollouts
	for _, s := range []history.Seen{
		{Generation: 1, Author: "kubectl-client-side-apply", Incomplete: 3, Now: today.Add(-50 * time.Hour)},
		{Generation: 1, Failed: 1, Now: today.Add(-49 * time.Hour)},
		{Generation: 2, Author: "argocd-controller", Incomplete: 3, Now: today.Add(-2 * time.Hour)},
		{Generation: 3, Author: "kubectl-edit", Incomplete: 2, Now: today.Add(-90 * time.Minute)},
	} {
		all, _ = all.Next(s)
	}
	var stages history.Stages
	for i, k := range []history.Key{
		{Package: "driver", Version: "0.9.0", Stage: v1alpha1.StageApply},
		{Package: "driver", Version: "1.0.0", Stage: v1alpha1.StageConfig},
		{Package: "driver", Version: "0.9.0", Stage: v1alpha1.StageInterrupt, Interrupt: v1alpha1.InterruptReboot},
	} {
		for run := range 10 {
			stages = stages.Add(k, time.Duration(i+1)*time.Duration(run+10)*10*time.Second)
		}
	}
	return all, stages
}

//go:build integration

package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestResetWithoutNodes begins with the first batch again although no node has begun: a rollout may be stopped before.
func TestResetWithoutNodes(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{
		"east": {BatchState: &v1alpha1.BatchState{CurrentBatch: 2, ShouldStop: true}},
	}
	c.put(s)
	for _, tt := range []struct {
		answer string
		args   []string
		want   string
		batch  int
	}{
		{"", []string{"--skip-batch-reset"}, "No nodes have state for Skyhook \"gpu\"\n", 2},
		{"n\n", nil, "No nodes have state for Skyhook \"gpu\"\nThe rollout begins with its first batch again. Continue? [y/N]: Aborted.\n", 2},
		{"", []string{"--yes"}, "No nodes have state for Skyhook \"gpu\"\nBatch state reset for Skyhook \"gpu\"\n", 1},
	} {
		out, _, err := c.run(tt.answer, append([]string{"reset", "gpu"}, tt.args...)...)
		b := c.stored("gpu").Status.CompartmentStatuses["east"].BatchState
		if err != nil || out != tt.want || b.CurrentBatch != tt.batch || b.ShouldStop != (tt.batch == 2) {
			t.Errorf("%v: error %v, batch %+v, printed\n%s", tt.args, err, b, out)
		}
	}
}

// TestResetOfAGoneSkyhook resets the nodes that remember it, and says that it is gone.
func TestResetOfAGoneSkyhook(t *testing.T) {
	c := newCluster(t)
	for _, want := range []string{"No nodes have state for Skyhook \"gpu\"\n", "Successfully reset 1 node(s) for Skyhook \"gpu\"\n"} {
		out, errs, err := c.run("", "reset", "gpu", "--yes")
		if err != nil || !strings.HasSuffix(out, want) || !strings.HasPrefix(errs, `Warning: there is no Skyhook "gpu"; `) {
			t.Errorf("error %v, printed\n%s%s", err, out, errs)
		}
		if !strings.HasPrefix(out, "No nodes") {
			break
		}
		c.put(newNode("worker-1", states("{"+driverDone+"}")))
	}
}

// TestBatchResetSaysSoOnce keeps the sentence that scripts know.
func TestBatchResetSaysSoOnce(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"east": {BatchState: &v1alpha1.BatchState{CurrentBatch: 2}}}
	c.put(s)
	out, _, err := c.run("", "dp", "reset", "gpu", "--yes")
	want := "Skyhook: gpu\nCompartments: 1 total, 1 with batch state\n  - east: batch 2, 0 completed, 0 failed\n" +
		"Successfully reset batch state for Skyhook \"gpu\"\n"
	if err != nil || out != want {
		t.Errorf("error %v, printed\n%s", err, out)
	}
}

// TestFailedNodesAreListed says for each command what failed, as scripts know it, and ends with an error.
func TestFailedNodesAreListed(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	c.mayOnlyRead("reader")
	for want, args := range map[string][]string{
		"Errors resetting some nodes:\n  - worker-1: ": {"node", "reset", "worker-1", "--skyhook", "gpu", "--yes"},
		"Errors updating some nodes:\n  - worker-1: ":  {"package", "rerun", "driver", "--skyhook", "gpu", "--node", "worker-1", "--yes"},
		"Errors changing some nodes:\n  - worker-1: ":  {"node", "ignore", "worker-1"},
	} {
		out, _, err := c.run("", append(args, "--as", "reader")...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: error %v; want %q in\n%s", args, err, want, out)
		}
	}
}

// mayOnlyRead lets a user read what the commands read, and write nothing.
func (c *cluster) mayOnlyRead(user string) {
	c.t.Helper()
	c.may(user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}})
}

// may gives a user rights, among them to list Skyhooks, and waits until the API server knows of them.
func (c *cluster) may(user string, rule rbacv1.PolicyRule) {
	c.t.Helper()
	c.put(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{rule}})
	c.put(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
	err := wait.PollUntilContextTimeout(c.t.Context(), 10*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Resource: "skyhooks", Verb: "list"},
		}}
		err := c.Create(ctx, asked)
		return asked.Status.Allowed, err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestOldCalls are those of scripts for earlier programs.
func TestOldCalls(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	for _, args := range [][]string{
		{"version", "--client-only", "whatever"},
		{"reset", "gpu", "--dry-run=true"},
		{"node", "reset", "worker-1", "--skyhook", "gpu", "--dry-run", "-v"},
	} {
		if out, _, err := c.run("", args...); err != nil {
			t.Errorf("%v: error %v, printed\n%s", args, err, out)
		}
	}
	if c.node("worker-1").Annotations[v1alpha1.AnnotationNodeStatePrefix+"gpu"] == "" {
		t.Error("a dry run reset the node")
	}
}

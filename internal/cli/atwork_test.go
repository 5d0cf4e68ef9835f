//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// atWork is a node of a pool with a package in a state.
func atWork(skyhook, name, state string) *corev1.Node {
	return inPool(skyhook, name, func(n *corev1.Node) {
		n.Labels[v1alpha1.LabelStatusPrefix+skyhook] = state
		n.Annotations = map[string]string{v1alpha1.AnnotationNodeStatePrefix + skyhook: `{"tuning|2.1.0":{"name":"tuning","version":"2.1.0",` +
			`"image":"registry.example/tuning","stage":"apply","state":"` + state + `","since":"2026-03-04T05:00:00Z","run":"r1"}}`}
	})
}

// TestWhyTellsWhatRuns: a script that hangs fails nothing and waits for nothing, and still holds up what is behind it.
func TestWhyTellsWhatRuns(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("hangs", nil))
	for _, node := range []string{"hangs-1", "hangs-2"} {
		c.put(atWork("hangs", node, "in_progress"))
		c.runStage(c.stored("hangs"), node)
	}
	for args, want := range map[string]string{
		"hangs":        "hangs on hangs-1, hangs-2, package tuning: apply of 2.1.0 has run for ",
		"node hangs-2": "hangs on hangs-2, package tuning: apply of 2.1.0 has run for ",
	} {
		out, _, err := c.run("", append([]string{"why", "--namespace", "default"}, strings.Fields(args)...)...)
		const logs = "; `kubectl skyhook logs hangs --package tuning --stage apply --tail 20 -n default` prints what it says\n"
		if err != nil || !strings.Contains(out, want) || !strings.HasSuffix(out, logs) {
			t.Errorf("why %s: %v\n%s", args, err, out)
		}
		out, _, err = c.run("", append([]string{"why", "--namespace", "default", "-o", "json"}, strings.Fields(args)...)...)
		if err != nil || !json.Valid([]byte(out)) {
			t.Errorf("why %s as json: %v\n%s", args, err, out)
		}
	}
}

// TestPlanOfAStageOnALostNode: what runs on a node that is not Ready, or is gone, has no end that anybody can foretell.
func TestPlanOfAStageOnALostNode(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("lost", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusInProgress, CompleteNodes: "0/2", Nodes: v1alpha1.NodeCounts{Total: 2, InProgress: 2},
			Permits: []v1alpha1.Permit{{Node: "lost-1", Generation: 1}, {Node: "lost-2", Generation: 1, Order: 1}},
		}
	}))
	ready, away := atWork("lost", "lost-1", "in_progress"), atWork("lost", "lost-2", "in_progress")
	away.Status.Conditions[0].Status = corev1.ConditionUnknown
	c.put(ready)
	c.put(away)
	for _, node := range []string{"lost-1", "lost-2", "lost-3"} {
		c.runStage(c.stored("lost"), node)
	}
	out, _, err := c.run("", "plan", "lost", "--namespace", "default")
	if err != nil || !strings.Contains(out, "Skyhook lost is in_progress, 1/2 nodes complete") ||
		!strings.Contains(out, "lost on lost-2: NodeNotReady") || strings.Contains(out, "lost-3  lost") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err = c.run("", "status", "lost", "--namespace", "default"); err != nil || strings.Contains(out, "time left") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWhyOfWhatIsHeld: nothing waits on any node, but somebody paused it, and a command lets it go on.
func TestWhyOfWhatIsHeld(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("held", func(s *v1alpha1.Skyhook) {
		paused(s)
		s.Status = v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusPaused, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1, Paused: 1},
			CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{"__default__": {Matched: 1, Completed: 1}},
		}
	}))
	n := atWork("held", "held-1", "complete")
	n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"held"] = strings.Replace(n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"held"], "apply", "config", 1)
	c.put(n)
	out, _, err := c.run("", "why", "held", "--namespace", "default")
	if err != nil || !strings.Contains(out, "kubectl annotate skyhook held skyhook.nvidia.com/pause-") || !strings.Contains(out, "nothing waits") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err = c.run("", "status"); err != nil || !strings.HasPrefix(out, "held  paused  1 of 1 nodes complete\n") {
		t.Errorf("the head is not as the bar: %v\n%s", err, out)
	}
}

// TestWatchIsForPeople: nobody parses what is drawn by mistake.
func TestWatchIsForPeople(t *testing.T) {
	c := newCluster(t)
	out, _, err := c.run("", "status", "--watch", "-o", "json")
	if err == nil || err.Error() != "--watch draws for people; leave out --watch, or --output json" || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// operator is the Deployment of an operator that is not ready.
func operator() *appsv1.Deployment {
	labels := map[string]string{"app": "skyhook-operator"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "skyhook-operator", Namespace: "default", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "registry.example/skyhook/operator:1"}}},
			},
		},
	}
}

// TestStatusWithoutOperator: what is shown is as it was, and nothing of it goes on.
func TestStatusWithoutOperator(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("left", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{Status: v1alpha1.StatusInProgress, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1, InProgress: 1}}
	}))
	c.put(inPool("left", "left-1", nil))
	d := operator()
	c.put(d)
	for _, args := range []string{"status left", "status"} {
		out, said, err := c.run("", append(strings.Fields(args), "--namespace", "default")...)
		if err != nil || !strings.Contains(said, "Warning: no replica of the operator in namespace default is ready, so nothing changes") ||
			strings.Contains(out, "time left") {
			t.Errorf("%s: %v\n%s%s", args, err, said, out)
		}
	}
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if out, said, err := c.run("", "status", "left", "--namespace", "default"); err != nil || said != "" || !strings.Contains(out, "time left") {
		t.Errorf("%v\n%s%s", err, said, out)
	}
}

// electing is an operator with replicas that are ready since a while, one of which has to lead.
func (c *cluster) electing(ready time.Duration) *appsv1.Deployment {
	c.t.Helper()
	d := operator()
	d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LEADER_ELECTION", Value: "true"}}
	d.Status = appsv1.DeploymentStatus{
		Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(today.Add(-ready)),
		}},
	}
	c.put(d)
	return d
}

// TestStatusWithoutLeader: replicas that are ready and cannot write the lease do nothing. A clock that is minutes off is no
// reason to say so.
func TestStatusWithoutLeader(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("left", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{Status: v1alpha1.StatusInProgress, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1, InProgress: 1}}
	}))
	c.put(inPool("left", "left-1", nil))
	for _, test := range []struct {
		name  string
		ready time.Duration
		// lease is nil where nobody could write one, and renewed how long ago that was done last; zero for never.
		lease   *coordinationv1.Lease
		renewed time.Duration
		// silent is what why says; empty while somebody leads.
		silent string
	}{
		{name: "it leads", ready: time.Hour, lease: &coordinationv1.Lease{}, renewed: time.Second},
		{name: "it leads, by another clock", ready: time.Hour, lease: &coordinationv1.Lease{}, renewed: 4 * time.Minute},
		{
			name: "it led", ready: time.Hour, lease: &coordinationv1.Lease{}, renewed: 6 * time.Minute,
			silent: "OperatorNotLeading for 6m (who can end it: an administrator)\n    no replica of Deployment skyhook-operator in " +
				"namespace default renews the lease",
		},
		{name: "it has just been installed", ready: time.Minute},
		{name: "the first lease is refused", ready: 7 * time.Minute, silent: "has written the lease 3c22c1ae.nvidia.com yet"},
		{name: "a lease without a time", ready: 8 * time.Minute, lease: &coordinationv1.Lease{}, silent: "OperatorNotLeading for 8m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &cluster{Client: c.Client, t: t, kubeconfig: c.kubeconfig}
			d := c.electing(test.ready)
			if lease := test.lease; lease != nil {
				lease.Name, lease.Namespace = settings.LeaseName, d.Namespace
				if test.renewed > 0 {
					lease.Spec.RenewTime = &metav1.MicroTime{Time: today.Add(-test.renewed)}
				}
				c.put(lease)
			}
			out, said, err := c.run("", "status", "left", "--namespace", d.Namespace)
			const warning = "Warning: no replica of the operator in namespace default leads, by this computer's clock, so nothing changes"
			if err != nil || strings.Contains(said, warning) == (test.silent == "") || strings.Contains(out, "time left") != (test.silent == "") {
				t.Errorf("%v\n%s%s", err, said, out)
			}
			out, _, err = c.run("", "why", "left", "--namespace", d.Namespace, "--context", "test")
			if err != nil || strings.Contains(out, "OperatorNotLeading") == (test.silent == "") || !strings.Contains(out, test.silent) {
				t.Errorf("%v\n%s", err, out)
			}
			const command = "`kubectl logs -n default -l app=skyhook-operator --tail=-1 --context test | grep 3c22c1ae.nvidia.com | tail -5`"
			if test.silent != "" && !strings.Contains(out, command) {
				t.Errorf("%s is not in\n%s", command, out)
			}
		})
	}
}

// TestWatchWithoutLeader: people who only watch are told once, too.
func TestWatchWithoutLeader(t *testing.T) {
	c := newCluster(t)
	s := heldUp("left", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{Status: v1alpha1.StatusInProgress, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1, InProgress: 1}}
	})
	c.put(s)
	c.electing(time.Hour)
	var errs bytes.Buffer
	out := &screen{seen: func() {
		s := c.stored("left")
		s.Status.Status, s.Status.CompleteNodes, s.Status.Nodes = v1alpha1.StatusComplete, "1/1", v1alpha1.NodeCounts{Total: 1, Complete: 1}
		if err := c.Status().Update(t.Context(), s); err != nil {
			t.Error(err)
		}
	}}
	err := c.runTo(out, &errs, "", "status", "left", "--watch", "--namespace", "default")
	if err != nil || strings.Count(errs.String(), "Warning: no replica of the operator in namespace default leads") != 1 {
		t.Errorf("%v\n%s%s", err, &errs, out)
	}
}

// TestUnplannedEdit: what was complete is not any more once the spec is another one.
func TestUnplannedEdit(t *testing.T) {
	c := newCluster(t)
	sk := heldUp("edited", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusComplete, CompleteNodes: "1/1", Nodes: v1alpha1.NodeCounts{Total: 1, Complete: 1}, ObservedGeneration: 1,
		}
	})
	c.put(sk)
	c.put(inPool("edited", "edited-1", nil))
	if out, said, err := c.run("", "status", "edited"); err != nil || said != "" || !strings.HasPrefix(out, "edited  complete") {
		t.Fatalf("%v\n%s%s", err, said, out)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(sk), sk); err != nil {
		t.Fatal(err)
	}
	sk.Spec.Priority = 77
	if err := c.Update(t.Context(), sk); err != nil {
		t.Fatal(err)
	}
	const want = "Warning: Skyhook edited: the operator has not planned the last edit yet; the status is of generation 1, and the spec " +
		"of generation 2"
	if out, said, err := c.run("", "status", "edited"); err != nil || !strings.Contains(said, want) || !strings.HasPrefix(out, "edited  in progress") {
		t.Errorf("%v\n%s%s", err, said, out)
	}
	if _, said, err := c.run("", "why", "edited"); err != nil || !strings.Contains(said, want) {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestStatusAndPlanWithoutNodes: a Skyhook that selects none says why, also where that is part of what it would select.
func TestStatusAndPlanWithoutNodes(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("nobody", func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{Status: v1alpha1.StatusComplete, CompleteNodes: "0/0"}
	}))
	c.put(newNode("other", nil))
	for _, command := range []string{"status nobody", "plan nobody"} {
		out, said, err := c.run("", strings.Fields(command)...)
		if err != nil || !strings.Contains(out+said, "spec.nodeSelectors: none of the cluster's ") {
			t.Errorf("%s: %v\n%s%s", command, err, said, out)
		}
	}
	windows := inPool("nobody", "windows", nil)
	windows.Labels["kubernetes.io/os"] = "windows"
	c.put(windows)
	for _, command := range []string{"status nobody", "plan nobody"} {
		out, said, err := c.run("", strings.Fields(command)...)
		if err != nil || !strings.Contains(out+said, "spec.nodeSelectors: of 1 node that it matches, 1 that run Windows or are virtual are left out") {
			t.Errorf("%s: %v\n%s%s", command, err, said, out)
		}
	}
}

//go:build integration

package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
)

// heldUp is a Skyhook on the nodes of a pool of its own, with one package and something that holds it up.
func heldUp(name string, change func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	s := &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}},
			Packages:      map[string]v1alpha1.Package{"tuning": {Version: "2.1.0", Image: "registry.example/tuning"}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func paused(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} }

func restarting(s *v1alpha1.Skyhook) {
	p := s.Spec.Packages["tuning"]
	p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"cron"}}
	s.Spec.Packages["tuning"] = p
}

// inPool is a node of a Skyhook's pool, with what is held against it.
func inPool(pool, name string, change func(*corev1.Node)) *corev1.Node {
	n := newNode(name, nil)
	n.Labels = map[string]string{"pool": pool}
	if change != nil {
		change(n)
	}
	return n
}

// failed is a record whose apply stage failed.
func failed(skyhook, reason, message string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Annotations = map[string]string{v1alpha1.AnnotationNodeStatePrefix + skyhook: `{"tuning|2.1.0":{"name":"tuning","version":"2.1.0",` +
			`"image":"registry.example/tuning","stage":"apply","state":"erroring","since":"2026-03-04T05:00:00Z","reason":"` + reason +
			`","message":"` + message + `"}}`}
	}
}

func workloadPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", Labels: map[string]string{"app": name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "1", Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "sleep", Image: "sleep"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// holdUp puts one Skyhook into the cluster for each thing that can hold it up, and returns their names.
func holdUp(c *cluster) []string {
	c.put(heldUp("paused", paused))
	c.put(inPool("paused", "paused-1", nil))

	c.put(heldUp("tainted", nil))
	c.put(inPool("tainted", "tainted-1", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "example.com/broken", Value: "disk", Effect: corev1.TaintEffectNoSchedule}}
	}))

	c.put(heldUp("ignored", nil))
	c.put(inPool("ignored", "ignored-1", func(n *corev1.Node) { n.Labels[v1alpha1.LabelIgnore] = "true" }))

	c.put(heldUp("earlier", func(s *v1alpha1.Skyhook) {
		paused(s)
		s.Spec.Priority = 100
		s.Spec.NodeSelectors.MatchLabels["pool"] = "later"
	}))
	c.put(heldUp("later", func(s *v1alpha1.Skyhook) { s.Spec.Priority = 300 }))
	c.put(inPool("later", "later-1", nil))

	c.put(heldUp("full", func(s *v1alpha1.Skyhook) { s.Spec.InterruptionBudget.Count = new(1) }))
	c.put(inPool("full", "full-1", nil))
	c.put(inPool("full", "full-2", nil))

	c.put(&v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "pace"}, Spec: v1alpha1.DeploymentPolicySpec{
		Default: v1alpha1.PolicyDefault{
			Budget: v1alpha1.Budget{Count: new(1)}, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{
				BatchRules: v1alpha1.BatchRules{InitialBatch: new(2)}, // so that it is the budget that holds up
			}},
		},
		Compartments: []v1alpha1.Compartment{{
			Name: "blue", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "apart"}},
			Budget: v1alpha1.Budget{Percent: new(50)},
		}},
	}})
	for _, name := range []string{"paced", "apart"} {
		c.put(heldUp(name, func(s *v1alpha1.Skyhook) { s.Spec.DeploymentPolicy = "pace" }))
		c.put(inPool(name, name+"-1", nil))
		c.put(inPool(name, name+"-2", nil))
	}

	c.put(heldUp("malformed", nil))
	c.put(inPool("malformed", "malformed-1", func(n *corev1.Node) {
		n.Annotations = map[string]string{v1alpha1.AnnotationNodeStatePrefix + "malformed": "{"}
	}))

	c.put(heldUp("away", nil))
	c.put(inPool("away", "away-1", func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "Kubelet stopped posting node status.",
			LastTransitionTime: metav1.NewTime(today.Add(-10 * time.Minute)),
		}}
	}))

	c.put(heldUp("failing", nil))
	c.put(inPool("failing", "failing-1", failed("failing", "StepFailed", "container tuning-apply exited 3: no such sysctl")))
	c.put(inPool("failing", "failing-2", failed("failing", "StepFailed", "container tuning-apply exited 3: no such sysctl")))
	c.put(heldUp("refused", nil))
	c.put(inPool("refused", "refused-1", failed("refused", "PodRejected", "exceeded quota: compute")))
	c.put(heldUp("unpulled", nil))
	c.put(inPool("unpulled", "unpulled-1", failed("unpulled", "ImagePullBackOff", "registry.example/tuning:2.1.0: not found")))
	c.put(heldUp("unconfigured", func(s *v1alpha1.Skyhook) {
		p := s.Spec.Packages["tuning"]
		from := corev1.LocalObjectReference{Name: "limits"}
		p.Env = []corev1.EnvVar{
			{Name: "FILES", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: from, Key: "files"}}},
			{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: from, Key: "token"}}},
		}
		s.Spec.Packages["tuning"] = p
	}))
	c.put(inPool("unconfigured", "unconfigured-1", failed("unconfigured", "CreateContainerConfigError", `configmap \"limits\" not found`)))
	c.put(inPool("unconfigured", "unconfigured-2", failed("unconfigured", "CreateContainerConfigError", `secret \"limits\" not found`)))

	c.put(heldUp("protected", func(s *v1alpha1.Skyhook) {
		restarting(s)
		s.Spec.PodNonInterruptLabels = metav1.LabelSelector{MatchLabels: map[string]string{"app": "precious"}}
	}))
	c.put(inPool("protected", "protected-1", nil))
	c.put(workloadPod("precious", "protected-1"))

	c.put(heldUp("guarded", restarting))
	c.put(inPool("guarded", "guarded-1", nil))
	c.put(workloadPod("quorum", "guarded-1"))
	least := intstr.FromInt32(1)
	c.put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "quorum", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "quorum"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1},
	})
	return []string{
		"paused", "tainted", "ignored", "later", "full", "paced", "apart", "malformed", "away", "failing", "refused", "unpulled", "unconfigured",
		"protected", "guarded",
	}
}

// capitals are what stands for a name in the page of all reasons.
var capitals = regexp.MustCompile(`\b(NAME|NAMESPACE|NODE|NODES|PACKAGE|POD|CONTAINER|KEY|EARLIER|POLICY)\b`)

// TestWhyHeldUp: each thing that holds a node up has its sentence, with names and no words that stand for some, and the
// command that ends it, if one does without harm.
func TestWhyHeldUp(t *testing.T) {
	c := newCluster(t)
	for _, name := range holdUp(c) {
		t.Run(name, func(t *testing.T) {
			out, _, err := c.run("", "why", name)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "why-"+name, out)
			if word := capitals.FindString(out); word != "" {
				t.Errorf("%s stands for a name in\n%s", word, out)
			}
			// None of ours ends a quota, or what others set on purpose: pods, budgets and taints.
			none := []string{"refused", "tainted", "full", "paced", "apart", "protected", "guarded"}
			if has := strings.Contains(out, "    Command"); has == slices.Contains(none, name) {
				t.Errorf("a command: %t, in\n%s", has, out)
			}
		})
	}
}

// TestWhyPodsReturn: what the operator learned in several looks is told, rather than what one look tells.
func TestWhyPodsReturn(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("returning", restarting))
	c.put(inPool("returning", "returning-1", func(n *corev1.Node) {
		n.Annotations = map[string]string{v1alpha1.GroupName + "/wait_returning": `{"package":"tuning","reason":"PodReturns",` +
			`"frees":"other","since":"2026-03-04T05:00:00Z",` +
			`"message":"pod default/stubborn: after 2 evictions ReplicaSet stubborn still puts its pods here"}`}
	}))
	c.put(workloadPod("stubborn", "returning-1"))
	out, _, err := c.run("", "why", "returning")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "why-returning", out)
}

// TestWhyOfRemoved: what failed of a package that the spec does not name any more is no reason.
func TestWhyOfRemoved(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	n := newNode("worker-1", nil)
	failed("gpu", "StepFailed", "exited 3")(n)
	c.put(n)
	for _, want := range []bool{true, false} {
		out, _, err := c.run("", "why", "gpu")
		if told := strings.Contains(out, "exited 3"); err != nil || told != want {
			t.Errorf("error %v, printed\n%s", err, out)
		}
		failed := v1alpha1.AnnotationNodeStatePrefix + "gpu"
		n.Annotations[failed] = strings.ReplaceAll(n.Annotations[failed], "tuning", "removed")
		if err := c.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhyDeparted: a node that left while it was in progress is told as long as it keeps its permit.
func TestWhyDeparted(t *testing.T) {
	c := newCluster(t)
	s := heldUp("departed", func(s *v1alpha1.Skyhook) { s.Spec.InterruptionBudget.Count = new(1) })
	s.Status.Permits = []v1alpha1.Permit{
		{Node: "departed-gone", Order: 1, Generation: 1},
		{Node: "departed-moved", Order: 2, Generation: 1},
		{Node: "departed-lost", Order: 3, Generation: 1},
		{Node: "departed-dead", Order: 4, Generation: 1},
	}
	c.put(s)
	c.put(inPool("elsewhere", "departed-moved", nil))
	c.put(inPool("elsewhere", "departed-lost", func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	}))
	for _, node := range []string{"departed-dead", "departed-moved", "departed-lost"} {
		c.runStage(c.stored("departed"), node)
	}
	c.put(inPool("departed", "departed-next", nil))
	out, _, err := c.run("", "why", "departed", "-n", "default")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "why-departed", out)
}

// TestWhyOfADeletion names what keeps the Skyhook: a pod on a node, on one that is gone, or a finalizer of others.
func TestWhyOfADeletion(t *testing.T) {
	c := newCluster(t)
	keep := []string{"theirs.io/keep"}
	for _, name := range []string{"deleted-gone", "deleted-here", "deleted-foreign"} {
		s := heldUp(name, nil)
		s.Finalizers = []string{v1alpha1.Finalizer}
		if name == "deleted-foreign" {
			s.Finalizers = keep
		}
		c.put(s)
		c.put(inPool(name, name+"-other", nil))
		if name == "deleted-here" {
			c.put(inPool(name, name+"-node", nil))
		}
		if name != "deleted-foreign" {
			pod := c.runStage(s, name+"-node")
			c.kept(pod, keep)
			t.Cleanup(func() { c.kept(pod, nil) })
		}
		c.kept(s, s.Finalizers)
		t.Cleanup(func() { c.kept(s, nil) })
	}
	for skyhook, want := range map[string]string{
		"deleted-gone":    "deleted-gone on deleted-gone-node: WaitingForPodToEnd for ",
		"deleted-here":    "deleted-here on deleted-here-node, package tuning: WaitingForPodToEnd",
		"deleted-foreign": "Skyhook deleted-foreign: the operator is done with the Skyhook, which stays until the owners of these finalizers remove them: theirs.io/keep",
	} {
		var out bytes.Buffer
		later := time.Now().Add(time.Hour)
		root := cli.Root("1.2.3", func() time.Time { return later })
		root.SetOut(&out)
		root.SetArgs([]string{"why", skyhook, "-n", "default"})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("want %q, got\n%s", want, out.String())
		}
	}
}

// kept gives an object other finalizers, and deletes it.
func (c *cluster) kept(o client.Object, finalizers []string) {
	c.t.Helper()
	ctx := context.Background() // also when the test is over
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		c.t.Fatal(err)
	}
	o.SetFinalizers(finalizers)
	if err := c.Update(ctx, o); err != nil {
		c.t.Fatal(err)
	}
	if err := c.Delete(ctx, o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
}

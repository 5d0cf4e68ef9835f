package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var later = time.Unix(1_800_000_000, 0)

// strange is a cluster with a Skyhook that selects all of its nodes, and change what is strange about it.
func strange(change func(s *v1alpha1.Skyhook, v *view)) *view {
	s := v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "uid-demo", Generation: 2, Finalizers: []string{v1alpha1.Finalizer}}}
	s.Spec.Packages = map[string]v1alpha1.Package{"a": {Version: "1.0.0", Image: "x/a"}}
	s.Status.ObservedGeneration = 2
	v := &view{added: map[string]bool{}}
	v.node("node-1")
	change(&s, v)
	v.Skyhooks = []v1alpha1.Skyhook{s}
	return v
}

func (v *view) node(name string) *corev1.Node {
	v.Nodes = append(v.Nodes, corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
	return &v.Nodes[len(v.Nodes)-1]
}

// pod runs a stage of the Skyhook on a node, and is being deleted.
func (v *view) pod(t *testing.T, s *v1alpha1.Skyhook, node string, ends time.Duration) {
	t.Helper()
	p, err := workload.Options{Namespace: "skyhook", AgentImage: "x/agent:1"}.Pod(
		workload.Task{Skyhook: s, Package: "a", Stage: v1alpha1.StageApply, Run: "r1", Generation: 1, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: later.Add(ends)}, []string{"theirs.io/keep"}
	v.Pods = append(v.Pods, *p)
}

func remember(t *testing.T, n *corev1.Node, r record.Node) {
	t.Helper()
	p, err := record.Write("demo", r, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range p.Annotations {
		n.Annotations[key] = *value
	}
	for key, value := range p.Labels {
		n.Labels[key] = *value
	}
}

// answer is what "kubectl skyhook why demo" prints.
func answer(t *testing.T, v *view) string {
	t.Helper()
	e := explainer{target{namespace: "skyhook"}}
	var err error
	v.options, err = settings.FromEnvironment(func(key string) (string, bool) { return "skyhook", key == "NAMESPACE" }, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.decided(later, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	causes := e.causes(v, f, "demo", "")
	for i := range causes {
		e.conclude(v, f, &causes[i])
		fmt.Fprint(&out, causes[i].lines(later, false))
	}
	if len(causes) == 0 {
		return e.fine(v, f, "demo", "")
	}
	return out.String()
}

func condition(kind, reason string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "denied", LastTransitionTime: metav1.NewTime(later.Add(-time.Hour)),
	}
}

// TestWhyTellsWhatTheOperatorMet: a copy of the cluster, from which the answer comes, refuses nothing.
func TestWhyTellsWhatTheOperatorMet(t *testing.T) {
	failed := record.Node{Cordoned: true, Wait: &record.Wait{
		Reason: v1alpha1.ReasonPassFailed, Frees: record.FreesNode, Since: metav1.NewTime(later.Add(-time.Hour)), Message: "denied",
	}}
	deleted := func(s *v1alpha1.Skyhook, finalizers ...string) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: later.Add(-2 * time.Hour)}, append(s.Finalizers, finalizers...)
	}
	for _, c := range []struct {
		name   string
		change func(s *v1alpha1.Skyhook, v *view)
		want   string
	}{
		{"its finalizer stays", func(s *v1alpha1.Skyhook, _ *view) {
			deleted(s, "theirs.io/keep")
			s.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionStalled, v1alpha1.ReasonClaimRefused)}
		}, "demo: ClaimRefused for 60m"},
		{"a node cannot be written", func(s *v1alpha1.Skyhook, v *view) {
			deleted(s)
			remember(t, &v.Nodes[0], failed)
			s.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionDeletionBlocked, v1alpha1.ReasonPassFailed)}
		}, "demo on node-1: PassFailed for 60m"},
		{"a ConfigMap is refused", func(s *v1alpha1.Skyhook, _ *view) {
			s.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionStalled, v1alpha1.ReasonConfigMapRefused)}
		}, "demo: ConfigMapRefused for 60m"},
		{"nobody can tell whether a node is gone", func(s *v1alpha1.Skyhook, _ *view) {
			s.Status.Permits = []v1alpha1.Permit{{Node: "gone", Generation: 1}}
			s.Status.Attention = []v1alpha1.NodeAttention{{Node: "gone", Reason: v1alpha1.ReasonPassFailed, Message: "not known"}}
		}, "demo on gone: PassFailed"},
		{"a pod on a gone node, beside more nodes than the status names", func(s *v1alpha1.Skyhook, v *view) {
			s.Spec.InterruptionBudget.Count = new(1)
			s.Status.Permits = []v1alpha1.Permit{{Node: "gone", Generation: 1}}
			for i := range 10 {
				v.node(fmt.Sprintf("a-%d", i)).Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}}
			}
			v.pod(t, s, "gone", -time.Hour)
		}, "kubectl get pods -n skyhook -l skyhook.nvidia.com/name=demo -o wide lists them"},
		{"a pod has time to end", func(s *v1alpha1.Skyhook, v *view) {
			deleted(s)
			v.pod(t, s, "node-1", time.Hour)
		}, "being removed from 1 node: node-1"},
		{"so has one on a gone node", func(s *v1alpha1.Skyhook, v *view) {
			deleted(s)
			v.pod(t, s, "gone", time.Hour)
		}, "being removed from 1 node: gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := answer(t, strange(c.change)); !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		})
	}
}

// TestLogsOfASlowAPIServer: a pod that takes long to be created is nobody's interruption, and goes as any other.
func TestLogsOfASlowAPIServer(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			inner := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
			slow := interceptor.NewClient(inner, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					err := c.Create(context.WithoutCancel(ctx), o, opts...) // the pod exists, even if the caller gives up
					if interrupted {
						cancel()
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(time.Hour):
						return err
					}
				},
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return io.EOF
				},
			})
			l := &fileLogs{read: &reader{client: slow}, write: &writer{client: slow}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "skyhook-logs-", Namespace: "skyhook"}}
			began := time.Now()
			if err := l.readWith(ctx, pod, 1); err == nil {
				t.Error("it has no log")
			}
			took := time.Since(began)
			var left corev1.PodList
			if err := inner.List(t.Context(), &left); err != nil {
				t.Fatal(err)
			}
			if interrupted && took != 10*time.Second || !interrupted && (took < time.Hour || len(left.Items) > 0) {
				t.Errorf("interrupted %t: after %s, %d pods are left", interrupted, took, len(left.Items))
			}
		})
	}
}

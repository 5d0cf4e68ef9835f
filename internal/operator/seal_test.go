//go:build integration

package operator_test

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// asKubelet is a client with the credential of a node's kubelet.
func (f *cluster) asKubelet(node string) client.Client {
	f.t.Helper()
	c, err := client.New(apiserver.As(f.t, f.config, "system:node:"+node, "system:nodes"), client.Options{Scheme: f.client.Scheme()})
	f.must(err)
	return c
}

// forged is a record that says that the package is there.
func forged(t *testing.T, skyhook string) map[string]string {
	t.Helper()
	e := record.Entry{
		Name: "fw", Version: "1.0.0", Image: "registry.example/packages/shellscript",
		Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete, Config: map[string]string{}, Generation: 1,
	}
	p, err := record.Write(skyhook, record.Node{Status: v1alpha1.StatusComplete, Packages: map[string]record.Entry{e.Key(): e}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{}
	for key, value := range p.Annotations {
		annotations[key] = *value
	}
	return annotations
}

func (f *cluster) untilUnsealed(s *v1alpha1.Skyhook, nodes int) {
	f.t.Helper()
	f.until(s, "it tells of the forged record", func(x *v1alpha1.Skyhook) bool {
		told := 0
		for _, a := range x.Status.Attention {
			if a.Reason == v1alpha1.ReasonNodeStateUnsealed && strings.Contains(a.Message, "nodeState_"+s.Name) {
				told++
			}
		}
		return told == nodes
	})
}

// TestKubeletForgesARecord: with its own credential a kubelet may write annotations, but it gets rid of the runtime
// taint neither so nor otherwise, whether the node registered with the taint or the operator adds it to a new node.
func TestKubeletForgesARecord(t *testing.T) {
	f := newCluster(t, 1)
	f.kubelet.judge(func(*corev1.Pod) (int32, string) { return goesOn, "" })
	s := f.skyhook("needed", map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)})
	s.Spec.RuntimeRequired, s.Spec.AutoTaintNewNodes = true, true
	f.must(f.client.Create(t.Context(), s))
	seal := v1alpha1.LabelSealPrefix + s.Name
	old := eventually(f, &corev1.NodeList{}, "a sealed record", func(n *corev1.Node) bool {
		return n.Labels[seal] != "" && taint.Has(n, runtimeTaint)
	}, client.MatchingFields{"metadata.name": f.node(0)})
	f.tries(old, seal)
	f.forge(old.Name, s.Name)
	f.untilUnsealed(s, 1)

	young := f.registers(s, seal)
	f.untilUnsealed(s, 2)
	for _, name := range []string{old.Name, young} {
		n := f.get(name)
		if !taint.Has(n, runtimeTaint) || n.Annotations["skyhook.nvidia.com/nodeState_"+s.Name] != forged(t, s.Name)["skyhook.nvidia.com/nodeState_"+s.Name] {
			t.Errorf("node %s has %v, taints %v", name, n.ObjectMeta, n.Spec.Taints)
		}
	}

	f.kubelet.judge(nil)
	var pods corev1.PodList
	f.must(f.client.List(t.Context(), &pods, client.InNamespace(f.namespace)))
	for i := range pods.Items {
		f.kubelet.end(t, &pods.Items[i])
	}
	for _, name := range []string{old.Name, young} {
		f.patch(f.client, name, `{"metadata":{"annotations":{"skyhook.nvidia.com/nodeState_`+s.Name+`":null}}}`, nil)
	}
	f.untilStatus(s, v1alpha1.StatusComplete)
	for _, name := range []string{old.Name, young} {
		if n := f.get(name); taint.Has(n, runtimeTaint) {
			t.Errorf("node %s is complete and has the taints %v", name, n.Spec.Taints)
		}
	}
}

// patch changes a node with somebody's credential; refused says which error that has to be, nil for none.
func (f *cluster) patch(by client.Client, node, body string, refused func(error) bool) {
	f.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	err := by.Patch(f.t.Context(), n, client.RawPatch("application/merge-patch+json", []byte(body)))
	if refused == nil && err != nil || refused != nil && !refused(err) {
		f.t.Errorf("%s: %v", body, err)
	}
}

// tries does as a kubelet what it may not.
func (f *cluster) tries(node *corev1.Node, seal string) {
	f.t.Helper()
	kubelet := f.asKubelet(node.Name)
	for _, body := range []string{
		`{"metadata":{"labels":{"` + seal + `":"0"}}}`,
		`{"metadata":{"labels":{"` + seal + `":null}}}`,
		`{"spec":{"taints":[]}}`,
	} {
		f.patch(kubelet, node.Name, body, apierrors.IsForbidden)
	}
	err := kubelet.Delete(f.t.Context(), node)
	if !apierrors.IsForbidden(err) {
		f.t.Errorf("a kubelet that deletes its node gets %v", err)
	}
}

// forge writes a record as a kubelet, which nobody keeps it from.
func (f *cluster) forge(node, skyhook string) {
	f.t.Helper()
	n := f.get(node)
	before := n.DeepCopy()
	maps.Copy(n.Annotations, forged(f.t, skyhook))
	f.must(f.asKubelet(node).Patch(f.t.Context(), n, client.MergeFrom(before)))
}

// registers makes a node as its kubelet: with a seal it is refused, with a forged record it is not.
func (f *cluster) registers(s *v1alpha1.Skyhook, seal string) string {
	f.t.Helper()
	name := f.node(1)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{testLabel: f.namespace, seal: "0"}, Annotations: forged(f.t, s.Name),
	}}
	kubelet := f.asKubelet(name)
	if err := kubelet.Create(f.t.Context(), n.DeepCopy()); !apierrors.IsForbidden(err) {
		f.t.Errorf("a node that brings its seal: %v", err)
	}
	delete(n.Labels, seal)
	f.must(kubelet.Create(f.t.Context(), n))
	f.patch(f.client, name, `{"spec":{"taints":null}}`, nil) // the taint of a node that is not ready
	ready := `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}`
	f.must(kubelet.Status().Patch(f.t.Context(), n, client.RawPatch("application/strategic-merge-patch+json", []byte(ready))))
	return name
}

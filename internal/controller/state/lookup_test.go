package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestLookups: what a package's ConfigMap is found by finds no ConfigMap of a node, of which a fleet has very many.
func TestLookups(t *testing.T) {
	o := workload.Options{Namespace: "skyhook"}
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	s.Spec.Packages = map[string]v1alpha1.Package{"a": {Version: "1.0.0", ConfigMap: map[string]string{"k": "v"}}}
	meta, err := o.NodeMeta(s, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-7"}})
	if err != nil {
		t.Fatal(err)
	}
	odd := meta.DeepCopy()
	odd.Name = "named-by-an-earlier-operator"
	for _, c := range []struct {
		name string
		o    client.Object
		want map[string]string
	}{
		{"a pod on a node", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-7"}}, map[string]string{PodsByNode: "node-7"}},
		{"a pod on none", &corev1.Pod{}, nil},
		{"a package's ConfigMap", o.PackageConfigMap(s, "a"), map[string]string{PackageMapsBySkyhook: "demo"}},
		{"one that pods mount", o.MountedConfigMap(s, "a", s.Spec.Packages["a"]), map[string]string{PackageMapsBySkyhook: "demo"}},
		{"metadata of a node", meta, nil},
		{"metadata with another name", odd, map[string]string{OddMetaByNode: "node-7"}},
		{"a history", o.History(s, nil), nil},
		{"a ConfigMap of others", &corev1.ConfigMap{}, nil},
	} {
		_, pod := c.o.(*corev1.Pod)
		for _, l := range Lookups {
			if _, ofPods := l.Object.(*corev1.Pod); ofPods != pod {
				continue
			}
			keys := l.Keys(c.o)
			if want, found := c.want[l.Field]; len(keys) != 0 != found || found && keys[0] != want {
				t.Errorf("%s by %s: %v, want %q", c.name, l.Field, keys, want)
			}
		}
	}
}

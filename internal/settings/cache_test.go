package settings_test

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestCachedNode: what the controllers read stays, and the object that others may share is left alone.
func TestCachedNode(t *testing.T) {
	condition := func(kind string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionTrue, Message: "m"}
	}
	kept := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", UID: "uid", ResourceVersion: "3", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{condition("Ready"), condition("skyhook.nvidia.com/demo/Erroring")},
			NodeInfo:   corev1.NodeSystemInfo{BootID: "boot", Architecture: "arm64", ContainerRuntimeVersion: "containerd://2.1.0"},
		},
	}
	full := kept.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	full.Spec.PodCIDR, full.Spec.ProviderID = "10.0.0.0/24", "aws:///i-1"
	full.Status.Conditions = []corev1.NodeCondition{
		condition("MemoryPressure"), condition("Ready"), condition("DiskPressure"), condition("skyhook.nvidia.com/demo/Erroring"),
	}
	full.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
	full.Status.Allocatable, full.Status.Images = full.Status.Capacity, []corev1.ContainerImage{{SizeBytes: 1}}
	full.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}}
	full.Status.NodeInfo.KernelVersion, full.Status.NodeInfo.OSImage = "6.8", "Ubuntu"
	before := full.DeepCopy()
	for o, by := range settings.CacheOptions("skyhook").ByObject {
		if _, ok := o.(*corev1.Node); !ok {
			continue
		}
		shared := *full // the transform gets an object of its own, but not the lists in it
		got, err := by.Transform(&shared)
		if err != nil || cmp.Diff(got, &kept) != "" {
			t.Errorf("got %v, %s", err, cmp.Diff(got, &kept))
		}
		if diff := cmp.Diff(full, before); diff != "" {
			t.Error(diff)
		}
	}
}

// TestCachedPod: what tells which spec a pod was made for stays: the hash of our own, the containers of others.
func TestCachedPod(t *testing.T) {
	made := func(annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: annotations},
			Spec: corev1.PodSpec{
				NodeName: "n", Volumes: []corev1.Volume{{Name: "v"}}, InitContainers: []corev1.Container{{Name: "i"}},
				Containers: []corev1.Container{{Name: "c"}},
			},
		}
	}
	for o, by := range settings.CacheOptions("skyhook").ByObject {
		if _, ok := o.(*corev1.Pod); !ok {
			continue
		}
		for _, annotations := range []map[string]string{{"skyhook.nvidia.com/hash": "1"}, {"a": "b"}} {
			want := made(annotations)
			if want.Spec.Containers = nil; annotations["a"] == "" {
				want.Spec.InitContainers = nil
			}
			if got, err := by.Transform(made(annotations)); err != nil || cmp.Diff(got, want) != "" {
				t.Errorf("got %v, %s", err, cmp.Diff(got, want))
			}
		}
	}
}

// TestTextsAreShared: of what 10,000 nodes have in common there is one copy.
func TestTextsAreShared(t *testing.T) {
	fresh := func(parts ...string) string { return strings.Join(parts, "") } // a copy of its own, as from a decoder
	made := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{fresh("kubernetes.io", "/arch"): fresh("arm", "64")},
				Annotations: map[string]string{fresh("example.com", "/note"): fresh(strings.Repeat("long", 40), "x")},
			},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeConditionType(fresh("Rea", "dy")), Reason: fresh("Kubelet", "Ready")},
			}},
		}
	}
	same := func(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }
	for o, by := range settings.CacheOptions("skyhook").ByObject {
		if _, ok := o.(*corev1.Node); !ok {
			continue
		}
		var nodes []*corev1.Node
		for range 2 {
			out, err := by.Transform(made())
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, out.(*corev1.Node))
		}
		a, b := nodes[0], nodes[1]
		for key, value := range a.Labels {
			for other := range b.Labels {
				if !same(key, other) || !same(value, b.Labels[other]) {
					t.Errorf("label %s=%s has two copies", key, value)
				}
			}
		}
		if x, y := a.Status.Conditions[0], b.Status.Conditions[0]; !same(x.Reason, y.Reason) {
			t.Error("the reason of a condition has two copies")
		}
		for key, value := range a.Annotations {
			if same(value, b.Annotations[key]) {
				t.Error("a long text is kept for others")
			}
		}
	}
}

// TestMetadataMapsAreSlim: there is one for each node and Skyhook, so each keeps little more than its name.
func TestMetadataMapsAreSlim(t *testing.T) {
	made := func(skyhook, node string) *corev1.ConfigMap {
		cm, err := workload.Options{Namespace: "skyhook"}.NodeMeta(
			&v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: skyhook, UID: types.UID("uid-" + skyhook)}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		if err != nil {
			t.Fatal(err)
		}
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "skyhook"}}
		return cm
	}
	for o, by := range settings.CacheOptions("skyhook").ByObject {
		if _, ok := o.(*corev1.ConfigMap); !ok {
			continue
		}
		slim := func(skyhook, node string) *corev1.ConfigMap {
			out, err := by.Transform(made(skyhook, node))
			if err != nil {
				t.Fatal(err)
			}
			return out.(*corev1.ConfigMap)
		}
		a, sameSkyhook, other := slim("x", "n1"), slim("x", "n2"), slim("y", "n1")
		if !one(a.Labels, sameSkyhook.Labels) || &a.OwnerReferences[0] != &sameSkyhook.OwnerReferences[0] {
			t.Error("two of one Skyhook have a copy each of its labels, or of their owner")
		}
		if len(a.Data)+len(a.Annotations)+len(a.ManagedFields) > 0 {
			t.Errorf("what nobody reads is kept: %v", a)
		}
		for cm, want := range map[*corev1.ConfigMap]*corev1.ConfigMap{a: made("x", "n1"), sameSkyhook: made("x", "n2"), other: made("y", "n1")} {
			if workload.NodeOfMeta(cm) != workload.NodeOfMeta(want) || cmp.Diff(cm.OwnerReferences, want.OwnerReferences) != "" || cm.Name != want.Name {
				t.Errorf("%s is of node %s and of %v", cm.Name, workload.NodeOfMeta(cm), cm.OwnerReferences)
			}
		}
	}
}

func one(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

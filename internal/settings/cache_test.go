package settings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/internal/settings"
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

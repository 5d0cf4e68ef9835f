package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestGeneration: a pod of another operator tells by its env for which generation it was made. One with a hash, of our
// own, tells by its hash.
func TestGeneration(t *testing.T) {
	const pkg = `{"name":"fw","version":"1.0.0","skyhook":"demo","stage":"apply"}`
	for _, c := range []struct {
		name, id, hash string
		want           int64
	}{
		{"told", "demo-set-0b7e-42_fw_1.0.0", "", 42},
		{"ours", "demo-set-0b7e-42_fw_1.0.0", "abc", 0},
		{"no number", "demo-set-0b7e-x_fw_1.0.0", "", 0},
		{"nothing", "", "", 0},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"skyhook.nvidia.com/package": pkg}},
			Spec: corev1.PodSpec{InitContainers: []corev1.Container{
				{Name: "fw-init"}, {Name: "fw-apply", Env: []corev1.EnvVar{{Name: "SKYHOOK_RESOURCE_ID", Value: c.id}}},
			}},
		}
		if c.hash != "" {
			pod.Annotations["skyhook.nvidia.com/hash"] = c.hash
		}
		if got, err := workload.Observe(pod); err != nil || got.Generation != c.want {
			t.Errorf("%s: generation %d, want %d, error %v", c.name, got.Generation, c.want, err)
		}
	}
}

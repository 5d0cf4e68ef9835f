package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestObserveFailedPull: a kubelet that cannot pull an image tells so by turns in two ways. Both say the same here.
func TestObserveFailedPull(t *testing.T) {
	const backOff = `Back-off pulling image "example.com:5000/a:1.0@sha256:ab"`
	for _, c := range []struct {
		name, reason, message string
		want                  string
		repeats               bool
	}{
		{
			name: "the attempt", reason: "ErrImagePull", message: "failed to resolve: not found",
			want: "failed to resolve: not found",
		},
		{
			name: "the pause", reason: "ImagePullBackOff", message: backOff + ": ErrImagePull: failed to resolve: not found",
			want: "failed to resolve: not found",
		},
		{
			name: "the pause, of a kubelet before 1.32", reason: "ImagePullBackOff", message: backOff, want: backOff,
			repeats: true,
		},
		{
			name: "the attempt, without a word", reason: "ErrImagePull",
			want: "container tuning-init cannot be started, and the kubelet does not say why",
		},
		{
			name: "the pause, without a word", reason: "ImagePullBackOff",
			want: "container tuning-init cannot be started, and the kubelet does not say why", repeats: true,
		},
		{
			name: "the attempt, with a reason of its own", reason: "SignatureValidationFailed", message: "no signature",
			want: "SignatureValidationFailed: no signature",
		},
		{
			name: "the pause after it", reason: "ImagePullBackOff",
			message: backOff + ": SignatureValidationFailed: no signature", want: "SignatureValidationFailed: no signature",
		},
		{name: "the pause, in other words", reason: "ImagePullBackOff", message: backOff + ": boom", want: "boom"},
		{
			name: "the registry is away", reason: "RegistryUnavailable", message: "image pull failed",
			want: "RegistryUnavailable: image pull failed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, task(t, "tuning"))
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
				Name:  "tuning-init",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.message}},
			}}}
			got, err := workload.Observe(pod)
			if err != nil || got.Outcome != lifecycle.Stuck || got.Reason != "ImagePullBackOff" || got.Message != c.want ||
				got.Repeats != c.repeats {
				t.Errorf("got outcome %d, %q, %q, repeats %t, error %v; want it stuck, %q, repeats %t",
					got.Outcome, got.Reason, got.Message, got.Repeats, err, c.want, c.repeats)
			}
		})
	}
}

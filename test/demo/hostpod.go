package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/install"
)

const (
	// toolImage has a shell and the usual commands; the demo's package is pulled to its nodes anyway.
	toolImage = "ghcr.io/nvidia/skyhook-packages/shellscript:1.1.0"
	// podPatience is how long a pod may take, its image's download included.
	podPatience = 2 * time.Minute
)

// hostPod runs commands in the root of a node of any cluster: by a privileged pod that changes its root to the host's.
type hostPod struct {
	client  client.Client
	kubectl string
}

func (h hostPod) run(ctx context.Context, node string, argv []string) (string, error) {
	pod := newHostPod(node, argv)
	if err := h.client.Create(ctx, pod); err != nil {
		return "", fmt.Errorf("create a pod on node %s: %w", node, err)
	}
	defer func() {
		// Also when interrupted: nothing privileged stays behind.
		_ = h.client.Delete(context.WithoutCancel(ctx), pod, client.GracePeriodSeconds(0))
	}()
	err := wait.PollUntilContextTimeout(ctx, interval, podPatience, true, func(ctx context.Context) (bool, error) {
		err := h.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed, err
	})
	if err != nil {
		return "", fmt.Errorf("wait for %v on node %s: %w", argv, node, err)
	}
	out, err := exec.CommandContext(ctx, h.kubectl, "logs", "--namespace", pod.Namespace, pod.Name).Output()
	if err != nil {
		return "", fmt.Errorf("read the logs of pod %s: %w", pod.Name, err)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return string(out), fmt.Errorf("%v on node %s failed: %s", argv, node, out)
	}
	return string(out), nil
}

func newHostPod(node string, argv []string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "demo-host-", Namespace: install.Namespace},
		Spec: corev1.PodSpec{
			NodeName:      node,
			RestartPolicy: corev1.RestartPolicyNever,
			Tolerations:   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "host", Image: toolImage,
				// The commands are the host's own, by the host's path: the image needs no more than chroot.
				Command: append([]string{"chroot", "/host"}, argv...),
				Env: []corev1.EnvVar{{
					Name:  "PATH",
					Value: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				}},
				SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
				VolumeMounts:    []corev1.VolumeMount{{Name: "host", MountPath: "/host"}},
			}},
			Volumes: []corev1.Volume{{
				Name:         "host",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
			}},
		},
	}
}

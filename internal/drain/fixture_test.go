package drain_test

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

var (
	now     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	created = now.Add(-time.Hour)
)

// change makes a pod differ from an ordinary one.
type change func(*corev1.Pod)

// pod is a running pod of a ReplicaSet, named "namespace/name", unless changed. Its UID is "uid-<name>".
func pod(name string, changes ...change) corev1.Pod {
	namespace, name, _ := strings.Cut(name, "/")
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(created),
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	controlled("apps/v1", "ReplicaSet")(&p)
	for _, c := range changes {
		c(&p)
	}
	return p
}

func phase(phase corev1.PodPhase) change {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func labeled(key, value string) change {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

// controlled makes one owner the pod's only one, and its controller.
func controlled(apiVersion, kind string) change {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "owner",
			Controller: new(true),
		}}
	}
}

// owned adds an owner that is no controller.
func owned(apiVersion, kind string) change {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences,
			metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "other", UID: "other"})
	}
}

func bare(p *corev1.Pod) { p.OwnerReferences = nil }

func mirror(p *corev1.Pod) {
	p.Annotations = map[string]string{"kubernetes.io/config.mirror": "0123"}
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: "node", UID: "node",
		Controller: new(true),
	}}
}

// deleted requested the deletion some time ago, with a grace period.
func deleted(ago, grace time.Duration) change {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = new(metav1.NewTime(now.Add(grace - ago)))
		p.DeletionGracePeriodSeconds = new(int64(grace / time.Second))
	}
}

func finalizers(names ...string) change {
	return func(p *corev1.Pod) { p.Finalizers = names }
}

func emptyDir(p *corev1.Pod) {
	p.Spec.Volumes = append(p.Spec.Volumes,
		corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

func tolerant(key string) change {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

// lines writes a state as the tables do: "<Reason> <pod>", with "stuck" for such as should have ended; then what else is true.
func lines(s drain.State) []string {
	var out []string
	for _, b := range s.Blockers {
		line := b.Reason + " " + b.String()
		if b.Stuck {
			line += " stuck"
		}
		out = append(out, line)
	}
	for _, p := range s.Evict {
		out = append(out, "evict "+p.String())
	}
	if s.Clear {
		out = append(out, "clear")
	}
	if s.TimedOut {
		out = append(out, "timed out")
	}
	return out
}

package install

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/build/images"
)

type registry map[string]bool

func (r registry) PushIndex(_ context.Context, _ v1.ImageIndex, name string) error {
	r[name] = true
	return nil
}

func TestPushUsesTheNamesOfManifests(t *testing.T) {
	built := Images{
		Operator: images.Result{Name: "operator", Reference: "r/operator:v1"},
		Agent:    images.Result{Name: "agent", Reference: "r/agent:v1"},
		Packages: []images.Result{{Name: "shellscript", Version: "1.2.0", Reference: "r/shellscript:1.2.0"}},
		Older:    []images.Result{{Name: "shellscript-1.1.0", Version: "1.1.0", Reference: "ghcr.io/nvidia/skyhook-packages/shellscript:1.1.0"}},
	}
	got := registry{}
	if err := built.Push(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ghcr.io/nvidia/skyhook-packages/shellscript:1.1.0", "ghcr.io/nvidia/skyhook-packages/shellscript:1.2.0",
		"r/agent:v1", "r/operator:v1", "r/shellscript:1.2.0",
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func release(name, status string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: Namespace, Labels: map[string]string{"owner": "helm", "name": Release, "status": status},
	}}
}

func TestUnlockForgetsWhatWasInterrupted(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(
		release("v1", "superseded"), release("v2", "deployed"), release("v3", "pending-upgrade"), release("v4", "pending-install"),
	).Build()
	if err := unlock(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var left corev1.SecretList
	if err := c.List(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range left.Items {
		names = append(names, left.Items[i].Name)
	}
	if want := []string{"v1", "v2"}; !slices.Equal(names, want) {
		t.Errorf("left are %v, want %v", names, want)
	}
}

func deployment(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: Namespace, Generation: 2, Labels: managerLabels},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
	}
	change(d)
	return d
}

func TestRolledOut(t *testing.T) {
	tests := []struct {
		name   string
		change func(*appsv1.Deployment)
		want   bool
	}{
		{"done", func(*appsv1.Deployment) {}, true},
		{"change not seen yet", func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }, false},
		{"old pods serve", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, false},
		{"old pods are left", func(d *appsv1.Deployment) { d.Status.Replicas = 3 }, false},
		{"not ready", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := rolledOut(deployment(test.change)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestAvailableSaysWhatIsWaitedFor(t *testing.T) {
	pod := func(status corev1.PodStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "operator-1", Namespace: Namespace, Labels: managerLabels}, Status: status}
	}
	pulling := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}
	unplaced := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no nodes"}
	tests := []struct {
		name    string
		objects []client.Object
		want    string
	}{
		{"no pods", nil, "it has no pods"},
		{"image", []client.Object{pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: pulling}}})}, "operator-1: ImagePullBackOff not found"},
		{"place", []client.Object{pod(corev1.PodStatus{Conditions: []corev1.PodCondition{unplaced}})}, "operator-1: PodScheduled is False Unschedulable no nodes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithObjects(test.objects...).Build()
			synctest.Test(t, func(t *testing.T) {
				err := Available(t.Context(), c, time.Minute)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q in it", err, test.want)
				}
			})
		})
	}
	c := fake.NewClientBuilder().WithObjects(deployment(func(*appsv1.Deployment) {})).Build()
	if err := Available(t.Context(), c, time.Minute); err != nil {
		t.Error(err)
	}
}

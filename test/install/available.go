package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pollInterval is how often a waiting function looks.
const pollInterval = 200 * time.Millisecond

// managerLabels are those of the operator's Deployment and pods.
var managerLabels = client.MatchingLabels{"control-plane": "controller-manager", "app.kubernetes.io/instance": Release}

// Available waits until all replicas of the operator are of the newest version and available. The error of a wait that
// took longer than patience says what the pods are waiting for.
func Available(ctx context.Context, c client.Client, patience time.Duration) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		var list appsv1.DeploymentList
		if err := c.List(ctx, &list, client.InNamespace(Namespace), managerLabels); err != nil {
			return false, fmt.Errorf("list the operator's Deployments: %w", err)
		}
		return len(list.Items) == 1 && rolledOut(&list.Items[0]), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the operator did not become available within %s: %s", patience, troubles(ctx, c))
	}
	return err
}

func rolledOut(d *appsv1.Deployment) bool {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.AvailableReplicas == want &&
		s.Replicas == want
}

// troubles says what keeps the operator's pods from being ready.
func troubles(ctx context.Context, c client.Client) string {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(Namespace), managerLabels); err != nil {
		return err.Error()
	}
	if len(pods.Items) == 0 {
		return "it has no pods"
	}
	var found []string
	for i := range pods.Items {
		if trouble := troubleOf(&pods.Items[i]); trouble != "" {
			found = append(found, pods.Items[i].Name+": "+trouble)
		}
	}
	return strings.Join(found, "; ")
}

func troubleOf(pod *corev1.Pod) string {
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil {
			return strings.TrimSpace(waiting.Reason + " " + waiting.Message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			return strings.TrimSpace(string(condition.Type) + " is " + string(condition.Status) + " " + condition.Reason + " " + condition.Message)
		}
	}
	return ""
}

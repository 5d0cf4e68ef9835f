package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
)

// name is the Skyhook's.
const name = "gpu-init"

// start is when the rollout begins.
var start = time.Date(2026, time.March, 4, 5, 6, 0, 0, time.UTC)

// before is the cluster before the rollout: nodes in three compartments, and a driver that needs a reboot.
func before() forecast.Snapshot {
	policy := v1alpha1.DeploymentPolicy{ObjectMeta: meta("by-pool")}
	policy.Spec.Default = v1alpha1.PolicyDefault{Budget: v1alpha1.Budget{Count: new(1)}, Strategy: growing}
	skyhook := v1alpha1.Skyhook{ObjectMeta: meta(name)}
	skyhook.Spec.NodeSelectors.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "pool", Operator: metav1.LabelSelectorOpExists},
	}
	skyhook.Spec.DeploymentPolicy = policy.Name
	skyhook.Spec.Packages = map[string]v1alpha1.Package{
		"driver": {
			Name: "driver", Version: "580.1.0", Image: "registry.example/driver",
			Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot},
		},
	}
	var s forecast.Snapshot
	for _, pool := range []struct {
		name          string
		nodes, budget int
	}{{"canary", 2, 1}, {"inference", 4, 2}, {"training", 6, 3}} {
		policy.Spec.Compartments = append(policy.Spec.Compartments, v1alpha1.Compartment{
			Name: pool.name, Budget: v1alpha1.Budget{Count: new(pool.budget)},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": pool.name}},
		})
		for i := range pool.nodes {
			n := corev1.Node{ObjectMeta: meta(fmt.Sprintf("%s-%02d", pool.name, i+1))}
			n.Labels = map[string]string{"pool": pool.name}
			n.Status.NodeInfo = corev1.NodeSystemInfo{BootID: "first", Architecture: "amd64"}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			s.Nodes = append(s.Nodes, n)
		}
	}
	s.Policies, s.Skyhooks = []v1alpha1.DeploymentPolicy{policy}, []v1alpha1.Skyhook{skyhook}
	return s
}

var growing = v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{
	BatchRules:   v1alpha1.BatchRules{InitialBatch: new(1), BatchThreshold: new(100), FailureThreshold: new(2), SafetyLimit: new(50)},
	GrowthFactor: new(2),
}}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.NewTime(start)}
}

const (
	stage, reboot = 20 * time.Second, 5 * time.Minute
	// failing is the node on which the first attempt of a stage fails that begins within these times, and slow is how
	// long the stage takes then.
	failing          = "training-02"
	from, until      = 4 * time.Minute, 10 * time.Minute
	slow, knownAfter = 4 * time.Minute, time.Minute
)

// takes is how long a stage takes: not all the same, but the same each time, so it must not depend on which node of
// several was first at the same moment.
func takes(_ string, s forecast.Step) time.Duration {
	at := s.Start.Sub(start)
	more := time.Duration(int(at.Seconds())*7%5) * 10 * time.Second
	switch {
	case s.Stage == v1alpha1.StageApply && at > from && at < until:
		return slow
	case s.Interrupt == v1alpha1.InterruptReboot:
		return reboot + 2*more
	default:
		return stage + more
	}
}

// fail tells of a first attempt that failed.
func fail(c client.Client, now time.Time) error {
	var pods corev1.PodList
	if err := c.List(context.Background(), &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		began := p.CreationTimestamp.Time
		if p.Spec.NodeName != failing || p.Status.InitContainerStatuses != nil ||
			now.Sub(began) < knownAfter || began.Sub(start) < from || began.Sub(start) > until {
			continue
		}
		done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
		failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: "modprobe: ERROR: could not insert 'nvidia': No such device",
		}}
		waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{Name: p.Spec.InitContainers[0].Name, State: done},
			{Name: p.Spec.InitContainers[1].Name, State: waits, LastTerminationState: failed, RestartCount: 1},
		}
		return c.Status().Update(context.Background(), p)
	}
	return nil
}

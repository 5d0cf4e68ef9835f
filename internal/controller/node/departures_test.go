package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// leaver is a package pod on node n, of which the agent runs or does not.
func leaver(uid types.UID, begun bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid, Annotations: map[string]string{
		v1alpha1.AnnotationPackage: `{"name":"a","version":"1.0.0","stage":"apply"}`,
	}}, Spec: corev1.PodSpec{NodeName: "n"}}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "a-init", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "a-apply"},
	}
	if begun {
		p.Status.InitContainerStatuses[1].State.Running = &corev1.ContainerStateRunning{}
	}
	return p
}

// lastWord is the last that a kubelet says of a pod.
func lastWord(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp, p.Status.Phase = &metav1.Time{}, corev1.PodFailed
	return p
}

// TestDepartures: only the kubelet's last word on a pod that a pass saw proves that it never began.
func TestDepartures(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	disrupted := lastWord(leaver("p", false))
	disrupted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	for _, c := range []struct {
		name    string
		seen    []*corev1.Pod
		event   *corev1.Pod
		unknown bool
		after   time.Duration
		unbegun int
		waits   bool
	}{
		{name: "it went without having begun", seen: []*corev1.Pod{leaver("p", false)}, event: lastWord(leaver("p", false)), unbegun: 1},
		{name: "its event is on its way", seen: []*corev1.Pod{leaver("p", false)}, waits: true},
		{name: "its event does not come", seen: []*corev1.Pod{leaver("p", false)}, after: freshPatience},
		{name: "it began in the last moment", seen: []*corev1.Pod{leaver("p", false)}, event: lastWord(leaver("p", true))},
		{name: "it had begun", seen: []*corev1.Pod{leaver("p", true)}, event: lastWord(leaver("p", true))},
		{name: "the watch broke", seen: []*corev1.Pod{leaver("p", false)}, event: lastWord(leaver("p", false)), unknown: true},
		{name: "deleted by force", seen: []*corev1.Pod{leaver("p", false)}, event: leaver("p", false)},
		{name: "failed by somebody else than its kubelet", seen: []*corev1.Pod{leaver("p", false)}, event: disrupted},
		{name: "no pass saw it", event: lastWord(leaver("p", false))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d departures
			d.follow("n", c.seen, unstarted, now)
			if c.event != nil {
				d.went(c.event, !c.unknown)
			}
			d.follow("n", nil, unstarted, now)
			unbegun, waits := d.follow("n", nil, unstarted, now.Add(c.after))
			if len(unbegun) != c.unbegun || waits != c.waits {
				t.Errorf("%d never began, waits: %t", len(unbegun), waits)
			}
			d.settle("n", unbegun)
			if unbegun, _ := d.follow("n", nil, unstarted, now); len(unbegun) > 0 {
				t.Error("it is told again")
			}
			d.forget("n")
			if len(d.nodes) > 0 {
				t.Errorf("left are %v", d.nodes)
			}
		})
	}
}

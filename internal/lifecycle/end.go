package lifecycle

import (
	"fmt"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// EndGrace is how much longer than its grace period a pod may take to end before people are told.
const EndGrace = 30 * time.Second

// overdueEnd returns the first of the pods, whatever it is for, that is still being deleted long after its grace
// period: the kubelet should have ended it, so that somebody has to look. Without one, nil and in how long there may be
// one; 0 for never.
func overdueEnd(pods []Pod, now time.Time) (w *record.Wait, after time.Duration) {
	for _, pod := range pods {
		if !pod.Terminating || pod.Ends.IsZero() {
			continue
		}
		left := pod.Ends.Add(EndGrace).Sub(now)
		if left <= 0 {
			return pod.holds(newWait(pod.Package, v1alpha1.ReasonWaitingForPodToEnd, fmt.Sprintf(
				"a pod did not end within its grace period; look at the node's kubelet and the pod's finalizers: "+
					"`kubectl get pod -n %s %s -o yaml`",
				pod.Namespace, pod.Name))), 0
		}
		if after == 0 || left < after {
			after = left
		}
	}
	return nil, after
}

// watchEnds tells of a pod that does not end, if nothing else was told: also of one that no entry asks for, and on a
// node that is complete but for it, which keeps its permit.
func (p *pass) watchEnds() {
	w, after := overdueEnd(p.Pods, p.Now)
	if after > 0 {
		p.out.lookAgain(after)
	}
	if w == nil {
		return
	}
	if p.endlessPod = w; p.nodeWait == nil {
		p.nodeWait = w
	}
}

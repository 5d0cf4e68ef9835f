package faults

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// lateness is how much longer than its limit something may last before it is told; unawareSteps may happen meanwhile, as
	// time flies where nobody has anything to do.
	lateness = 3 * time.Minute
)

// overdue is a pod that lasts longer than its stage may, since a step. Once that is told, its run may be taken back, and
// its pod be all that is left of it, for as long as its host is away.
type overdue struct {
	step     int
	operator string
	told     bool
}

// checkLate: a stage that lasts longer than the spec allows is told of, whether its node is alive or dead.
func (c *watcher) checkLate(atRest bool) {
	if !c.w.clocksAgree() || len(c.w.operators) != 1 {
		c.overdue = map[types.UID]overdue{}
		return
	}
	who := c.w.operators[0].name
	for _, pod := range c.w.cluster.Pods() {
		s, n, late := c.limited(pod)
		if s == nil {
			delete(c.overdue, pod.UID)
			continue
		}
		since, known := c.overdue[pod.UID]
		if !known || !late || since.operator != who {
			since.step, since.operator = c.w.step, who
		}
		says := n.Labels[v1alpha1.GroupName+"/status_"+s.Name]
		since.told = since.told || says == string(v1alpha1.StatusErroring)
		c.overdue[pod.UID] = since
		if late && !since.told && since.step < c.w.step && (atRest || c.w.step-since.step > unawareSteps) {
			c.w.findClass("timeout-late", string(identityOf(pod).Stage), "%s lasts %s, and node %s says %q of %s",
				pod.Name, c.w.now.Sub(pod.CreationTimestamp.Time), n.Name, says, s.Name)
		}
	}
}

// limited returns the Skyhook and the node of a pod whose stage lasts too long, and whether that should have been told by
// now; nil if it does not, or if something else may be said of it.
func (c *watcher) limited(pod *corev1.Pod) (s *v1alpha1.Skyhook, n *corev1.Node, late bool) {
	age := c.w.now.Sub(pod.CreationTimestamp.Time)
	owner, ours := ownerOf(pod)
	if !ours || age < shortTimeout || !live(pod) {
		return nil, nil, false
	}
	id := identityOf(pod)
	s, n = c.skyhooks[id.Skyhook], c.w.node(pod.Spec.NodeName)
	if s == nil || n == nil || c.rebootDone(pod, n.Name) || s.UID != owner.UID || s.DeletionTimestamp != nil || c.w.heldBy(s) != "" || v1alpha1.Ignored(n.Labels) ||
		!selects(s, n) || c.w.kubelet(n.Name).host.forged[s.Name] || c.ledger.account(n.Name, s.Name).tampered {
		return nil, nil, false
	}
	late = true
	for _, v := range c.w.views(s) {
		pkg, ok := v.Spec.Packages[id.Name]
		if !ok || pkg.Version != id.Version || pkg.StageTimeout == nil || age < pkg.StageTimeout.Duration {
			return nil, nil, false
		}
		late = late && age >= pkg.StageTimeout.Duration+lateness
	}
	return s, n, late
}

// rebootDone reports whether the host of a reboot's pod has booted since: the pod is all that is left of it.
func (c *watcher) rebootDone(pod *corev1.Pod, node string) bool {
	id, bound := envOf(pod)["SKYHOOK_BOOT_ID"]
	return bound && id != c.w.kubelet(node).bootID
}

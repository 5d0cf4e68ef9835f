package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// stuckAfter is how long after its grace period a pod may still be listed: the kubelet needs some time to unmount
// volumes and to confirm the deletion.
const stuckAfter = 30 * time.Second

// Classify looks at all pods that are bound to one node, in every namespace. Refused holds the API's message for each
// eviction that it refused in this pass, which the memory keeps for the next ones; now is the time of the pass.
//
// Left alone, because they come back at once or are not the API's to move: pods of DaemonSets, mirror pods of static
// pods, pods of kube-system. Left alone as well: finished pods, and our own package pods, which the node's lifecycle
// sees to. Tolerations do not matter: a workload may tolerate anything.
//
// Left alone at last is the very pod that drains. It would cut off its own work, and when all nodes are cordoned nobody
// could ever continue: its successor would have no node. Other replicas of the operator are evicted like any other pod.
//
// Protection goes before all that, as the interrupt itself would hit pods that an eviction spares. Only finished pods
// and our own package pods are never protected.
func Classify(pods []corev1.Pod, o Options, refused map[types.UID]string, now time.Time) State {
	o.Memory.refuse(refused)
	blockers := make([]Blocker, 0, len(pods))
	protected := false
	for i := range pods {
		b := o.judge(&pods[i], refused, now)
		if b.Reason == "" {
			continue
		}
		blockers = append(blockers, b)
		protected = protected || b.Reason == v1alpha1.ReasonProtectedPod
	}
	if protected {
		// What could be evicted waits for the protected pods, not the drain for it.
		blockers = slices.DeleteFunc(blockers, Blocker.evictable)
	}
	slices.SortFunc(blockers, compare)
	return State{
		Evict:    evictable(blockers),
		Blockers: blockers,
		Clear:    len(blockers) == 0,
		TimedOut: len(blockers) > 0 && !protected && o.expired(now),
	}
}

// judge returns a Blocker without a reason for a pod that is left alone.
func (o Options) judge(pod *corev1.Pod, refused map[types.UID]string, now time.Time) Blocker {
	b := Blocker{
		Pod:   Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Since: later(o.Started, pod.CreationTimestamp.Time),
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		b.Controller = owner.UID
	}
	refusal, wasRefused := refused[pod.UID]
	if !wasRefused {
		refusal, wasRefused = o.Memory.refusal(pod.UID)
	}
	switch {
	case finished(pod) || o.isPackagePod(pod):
	case o.protects(pod):
		b.Reason = v1alpha1.ReasonProtectedPod
		b.Message = protection(pod)
	case staysOnNode(pod) || o.isSelf(pod):
	case pod.DeletionTimestamp != nil:
		b.terminating(pod, now)
	case b.Controller == "" && !o.Force:
		b.Reason = v1alpha1.ReasonPodUnmanaged
		b.Message = "no controller would create it again; its owner can end it, or set spec.drain.force: true"
	case usesEmptyDir(pod) && !o.DeleteEmptyDirData:
		b.Reason = v1alpha1.ReasonPodUsesEmptyDir
		b.Message = "the data in its emptyDir volumes would be lost; its owner can end it, or set spec.drain.deleteEmptyDirData: true"
	case o.Memory.returns(b.Pod) >= mayReturn:
		b.Reason, b.Message = v1alpha1.ReasonPodReturns, o.Memory.returning(pod)
	case wasRefused:
		b.Reason, b.Message = v1alpha1.ReasonEvictionRefused, refusal
	default:
		b.Reason, b.Message = v1alpha1.ReasonEvicting, "eviction requested"
	}
	return b
}

// protection says what keeps a protected pod, and what runs it: people know jobs rather than pods.
func protection(pod *corev1.Pod) string {
	const by = "protected by spec.podNonInterruptLabels"
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case owner == nil:
		return by + "; eviction begins when no protected pod is left"
	case controlledBy(pod, "apps", "DaemonSet"):
		return by + "; DaemonSet " + owner.Name +
			" creates it again wherever it is deleted: keep the DaemonSet off the node, or change spec.podNonInterruptLabels"
	}
	return fmt.Sprintf("%s, run by %s %s; eviction begins when no protected pod is left", by, owner.Kind, owner.Name)
}

func (b *Blocker) terminating(pod *corev1.Pod, now time.Time) {
	// The API sets deletionTimestamp to the end of the grace period, not to the time of the request.
	ends := pod.DeletionTimestamp.Time
	var grace time.Duration
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	b.Reason, b.Message, b.Since = v1alpha1.ReasonPodTerminating, "being deleted", ends.Add(-grace)
	if now.Before(ends.Add(stuckAfter)) {
		return
	}
	b.Stuck = true
	if len(pod.Finalizers) > 0 {
		b.Message = "stuck after its grace period, held by its finalizers: " + strings.Join(pod.Finalizers, ", ")
	} else {
		b.Message = "stuck after its grace period: the node's kubelet has not confirmed its end; look at the kubelet"
	}
}

func (o Options) protects(pod *corev1.Pod) bool {
	return o.NonInterrupt != nil && !o.NonInterrupt.Empty() && o.NonInterrupt.Matches(labels.Set(pod.Labels))
}

// isPackagePod goes by owner: the operator's namespace holds other pods, too, and labels prove nothing.
func (o Options) isPackagePod(pod *corev1.Pod) bool {
	return pod.Namespace == o.OperatorNamespace && controlledBy(pod, v1alpha1.GroupName, "Skyhook")
}

func (o Options) isSelf(pod *corev1.Pod) bool {
	return o.Self != "" && pod.Name == o.Self && pod.Namespace == o.OperatorNamespace
}

func (o Options) expired(now time.Time) bool {
	return o.Timeout > 0 && !o.Started.IsZero() && !now.Before(o.Started.Add(o.Timeout))
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func staysOnNode(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || pod.Namespace == metav1.NamespaceSystem || controlledBy(pod, "apps", "DaemonSet")
}

func controlledBy(pod *corev1.Pod, group, kind string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == kind && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == group
}

func usesEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (b Blocker) evictable() bool {
	return b.Reason == v1alpha1.ReasonEvicting || b.Reason == v1alpha1.ReasonEvictionRefused
}

func evictable(blockers []Blocker) []Pod {
	var pods []Pod
	for _, b := range blockers {
		if b.evictable() {
			pods = append(pods, b.Pod)
		}
	}
	slices.SortFunc(pods, comparePods)
	return pods
}

func compare(a, b Blocker) int {
	return cmp.Or(cmp.Compare(rank[a.Reason], rank[b.Reason]), compareStuck(a, b), comparePods(a.Pod, b.Pod))
}

func compareStuck(a, b Blocker) int {
	switch {
	case a.Stuck == b.Stuck:
		return 0
	case a.Stuck:
		return -1
	default:
		return 1
	}
}

func comparePods(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

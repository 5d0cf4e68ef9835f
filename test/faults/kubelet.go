package faults

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// kubelet runs the pods of one machine, and is the machine.
type kubelet struct {
	w    *World
	plan NodePlan
	host *host
	// up is false while the machine is down or lost; away, while the kubelet alone is silent.
	up     bool
	bootID string
	boots  int
	// machineID is another one at each boot of an ephemeral host. reinstalls says that the next boot is that of an empty disk.
	machineID  string
	reinstalls bool
	// bootedAt is when the machine came up last.
	bootedAt time.Time
	// wentDown is when it went down last.
	wentDown time.Time
	runs     map[types.UID]*run
	// rebooted remembers for which run of an interrupt the machine was rebooted, see checkRebootOnce.
	rebooted map[string]int
	// blind hides the boot id, unreported says that nobody was told of this boot yet.
	blind, unreported bool
	// broken says that what ran on the machine broke it.
	broken bool
	// forges says that the node brings records of its own making when it is created again.
	forges bool
}

// run is one pod on the machine. It is over when its stage is through: the main container does nothing.
type run struct {
	podlife.Run
	content content
	// stuck says that nothing changes any more until the world rests; mounts, until the pod's ConfigMaps are there.
	stuck, mounts bool
	// ending says that it is being deleted.
	ending bool
}

func (w *World) addNode(p NodePlan) {
	k := w.kubelet(p.Name)
	if k == nil {
		k = &kubelet{w: w, plan: p}
		w.kubelets = append(w.kubelets, k)
	}
	k.plan, k.host, k.runs, k.rebooted, k.up = p, newHost(), map[types.UID]*run{}, map[string]int{}, true
	k.newMachine()
	k.newBoot()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: map[string]string{}}}
	for key, value := range p.Labels {
		node.Labels[key] = value
	}
	if k.forges {
		k.forges = false
		w.trace.add(w, "kubelet %s registers with forged records", p.Name)
		w.forgeAll(node)
	}
	w.create(node)
	k.report(true)
}

func (w *World) kubelet(node string) *kubelet {
	for _, k := range w.kubelets {
		if k.plan.Name == node {
			return k
		}
	}
	return nil
}

func (k *kubelet) newBoot() {
	k.boots++
	k.bootID = fmt.Sprintf("boot-%s-%d", k.plan.Name, k.boots)
	if k.plan.Ephemeral {
		k.newMachine()
	}
}

func (k *kubelet) newMachine() { k.machineID = fmt.Sprintf("machine-%s-%d", k.plan.Name, k.boots) }

// report writes what the kubelet says of its node.
func (k *kubelet) report(ready bool) {
	k.w.trace.add(k.w, "node %s reports ready=%t %s", k.plan.Name, ready, k.bootID)
	k.unreported = false
	k.w.editNodeStatus(k.plan.Name, func(n *corev1.Node) {
		n.Status.NodeInfo.ContainerRuntimeVersion, n.Status.NodeInfo.Architecture = "containerd://2.1.4", "amd64"
		n.Status.NodeInfo.MachineID = k.machineID
		if n.Status.NodeInfo.BootID = k.bootID; k.blind {
			n.Status.NodeInfo.BootID = ""
		}
		setReady(n, ready, k.w.now)
	})
}

func setReady(n *corev1.Node, ready bool, now time.Time) {
	c := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		LastTransitionTime: metav1.NewTime(now),
	}
	if ready {
		c.Status, c.Reason = corev1.ConditionTrue, "KubeletReady"
	}
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			n.Status.Conditions[i] = c
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, c)
}

// next is when the kubelet has something to do.
func (k *kubelet) next() time.Time {
	first := podlife.Never
	if !k.up {
		return first
	}
	for _, pod := range k.w.cluster.Pods() {
		if pod.Spec.NodeName != k.plan.Name {
			continue
		}
		if t := k.due(pod); t.Before(first) {
			first = t
		}
	}
	return first
}

// due is when a pod needs the kubelet.
func (k *kubelet) due(pod *corev1.Pod) time.Time {
	r := k.runs[pod.UID]
	switch {
	case r == nil:
		return k.w.now
	case pod.DeletionTimestamp != nil && !r.ending:
		return k.w.now
	case r.mounts && k.w.unmounted(pod) != "":
		return podlife.Never
	case r.stuck && k.w.resting:
		return k.w.now
	case r.stuck:
		return podlife.Never
	}
	return r.Until
}

// work takes one step with one pod that is due; false when none is.
func (k *kubelet) work() bool {
	if !k.up {
		return false
	}
	var due []*corev1.Pod
	for _, pod := range k.w.cluster.Pods() {
		if pod.Spec.NodeName == k.plan.Name && !k.due(pod).After(k.w.now) {
			due = append(due, pod)
		}
	}
	if len(due) == 0 {
		return false
	}
	pod := pick(k.w.rng, due...)
	r := k.runs[pod.UID]
	if r == nil {
		r = &run{Run: podlife.Run{Until: k.w.now}}
		k.runs[pod.UID] = r
	}
	switch _, ours := ownerOf(pod); {
	case pod.DeletionTimestamp != nil && !r.ending:
		k.stop(pod, r)
	case r.ending:
		k.end(pod, r)
	case ours:
		k.advance(pod, r)
	default:
		k.foreign(pod, r)
	}
	return true
}

// stop begins to end a pod that is being deleted.
func (k *kubelet) stop(pod *corev1.Pod, r *run) {
	grace := int64(30)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	r.ending, r.stuck, r.mounts = true, false, false
	switch {
	case finishedPod(pod) || r.State != podlife.Running || grace == 0:
		r.Until = k.w.now
	default:
		r.Until = k.w.now.Add(time.Duration(1+k.w.rng.Int64N(grace)) * time.Second)
	}
}

// end tells how the containers ended, some of the time, and lets the pod go.
func (k *kubelet) end(pod *corev1.Pod, r *run) {
	if _, ours := ownerOf(pod); ours && !finishedPod(pod) && len(pod.Status.InitContainerStatuses) > 0 &&
		(k.w.chance(0.5) || r.State == podlife.New) { // of what never ran all kubelets say so
		last := len(pod.Spec.InitContainers) - 1
		well := r.Attempt.Exit == 0 && r.At >= last && r.content.kind != nodeRestart && k.w.chance(0.3)
		k.w.podStatus(pod, func(s *corev1.PodStatus) {
			c := &s.InitContainerStatuses[min(r.At, last)]
			switch running := c.State.Running != nil; {
			case running && well:
				podlife.End(c, 0)
				s.Phase = corev1.PodSucceeded
				k.finish(r.content)
				k.w.watch.ledger.account(k.plan.Name, r.content.id.Skyhook).unseen[r.content.id.Name] = true
				return
			case running:
				podlife.End(c, pick(k.w.rng, int32(137), 143))
			}
			s.Phase = corev1.PodFailed
		})
		r.Until = k.w.now.Add(k.w.seconds(0, 5))
		return
	}
	k.w.trace.add(k.w, "kubelet %s: pod %s is gone", k.plan.Name, pod.Name)
	delete(k.runs, pod.UID)
	k.w.remove(pod.DeepCopy(), client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

func finishedPod(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podStatus writes a pod's status.
func (w *World) podStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	pod = pod.DeepCopy()
	change(&pod.Status)
	w.must(client.IgnoreNotFound(w.user.Status().Update(background, pod)))
}

// step takes the next step with a pod, which script draws. What only passes through a state is not seen in it.
func (k *kubelet) step(pod *corev1.Pod, r *run) {
	pod = pod.DeepCopy()
	r.Step(pod, k.w.now, func(container int) podlife.Attempt { return k.attempt(pod, r, container) })
	switch {
	case r.State == podlife.Paused && k.w.chance(0.5):
		r.BackOff(&pod.Status)
	case r.At == len(pod.Spec.InitContainers):
		if r.Attempt.Takes == 0 {
			r.Step(pod, k.w.now, nil)
		}
		r.State, r.Until = podlife.Over, podlife.Never
	}
	k.w.must(client.IgnoreNotFound(k.w.user.Status().Update(background, pod)))
}

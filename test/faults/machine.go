package faults

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// goDown ends all that runs on a machine and lets it boot some time later.
func (k *kubelet) goDown() {
	if !k.up {
		return
	}
	if k.plan.Graceful {
		k.shutdownPods()
	}
	k.up, k.wentDown = false, k.w.now
	k.w.trace.add(k.w, "host %s is down", k.plan.Name)
	boots := k.boots
	if k.w.chance(0.7) {
		k.w.after(k.w.seconds(0, 40), "node "+k.plan.Name+" is seen to be away", func() {
			if !k.up && k.boots == boots {
				k.w.editNodeStatus(k.plan.Name, func(n *corev1.Node) { setReady(n, false, k.w.now) })
			}
		})
	}
	k.w.after(k.w.seconds(20, 300), "host "+k.plan.Name+" boots", k.boot)
}

// shutdownPods is what a kubelet does that is told of the shutdown.
func (k *kubelet) shutdownPods() {
	for _, pod := range k.w.cluster.Pods() {
		r := k.runs[pod.UID]
		if pod.Spec.NodeName != k.plan.Name || finishedPod(pod) || r == nil || r.State == podlife.Over {
			continue
		}
		k.failPod(pod, r, "Terminated", "Pod was terminated in response to imminent node shutdown.")
	}
}

// failPod ends a pod for good without a result.
func (k *kubelet) failPod(pod *corev1.Pod, r *run, reason, message string) {
	k.w.trace.add(k.w, "kubelet %s: pod %s failed: %s", k.plan.Name, pod.Name, reason)
	k.w.watch.failed(pod)
	goes := r.Until
	k.w.podStatus(pod, func(st *corev1.PodStatus) { r.Fail(st, reason, message) })
	if r.stuck = false; r.ending {
		r.Until = goes
	}
}

// boot brings a machine back. What ran on it runs again from its first container.
func (k *kubelet) boot() {
	if k.up || k.w.node(k.plan.Name) == nil {
		return
	}
	k.newBoot()
	if k.up = true; k.reinstalls {
		k.reinstalls = false
		k.host = newHost()
		k.newMachine()
		k.w.watch.ledger.reinstalled(k.plan.Name)
	}
	k.host.interrupts++
	k.w.watch.ledger.booted(k)
	if k.plan.Ephemeral {
		k.host.done = map[string]bool{}
	}
	k.w.trace.add(k.w, "host %s is up, boot id %s", k.plan.Name, k.bootID)
	k.bootedAt = k.w.now
	k.taintForAWhile()
	k.losePods()
	if k.unreported = k.plan.PodsFirst; k.unreported {
		k.reportLater("is reported")
		return
	}
	ready := k.w.chance(0.6)
	k.report(ready)
	if !ready {
		k.reportLater("is Ready")
	}
}

// taintForAWhile is what a network plugin does until it is set up.
func (k *kubelet) taintForAWhile() {
	if k.w.taintsAtBoot == 0 {
		return
	}
	taint := corev1.Taint{Key: "network.example/agent-not-ready", Effect: corev1.TaintEffectNoSchedule}
	k.w.editNode(k.plan.Name, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) })
	k.w.after(k.w.taintsAtBoot, "the network of "+k.plan.Name+" is there", func() {
		k.untaint(taint)
	})
}

func (k *kubelet) untaint(taint corev1.Taint) {
	k.w.editNode(k.plan.Name, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	})
}

// reportLater reports this boot some time later, if it still lasts.
func (k *kubelet) reportLater(what string) {
	boots := k.boots
	k.w.after(k.w.seconds(1, 30), "node "+k.plan.Name+" "+what, func() {
		if k.up && k.boots == boots {
			k.report(true)
		}
	})
}

// losePods reports what became of the containers that a boot ended.
func (k *kubelet) losePods() {
	for _, pod := range k.w.cluster.Pods() {
		r := k.runs[pod.UID]
		if pod.Spec.NodeName != k.plan.Name || r == nil || r.ending || r.State == podlife.Over {
			continue
		}
		*r = run{content: r.content}
		if _, ours := ownerOf(pod); !ours {
			r.State, r.Until = podlife.Running, podlife.Never
			continue
		}
		if len(pod.Status.InitContainerStatuses) == 0 {
			r.Until = k.w.now
			continue
		}
		at := k.w.now.Add(k.w.seconds(0, 20))
		k.w.watch.failed(pod)
		k.w.podStatus(pod, func(st *corev1.PodStatus) { r.Boot(pod, st, at) })
	}
}

// lost is a machine that vanishes for a while.
func (k *kubelet) lost(d time.Duration) {
	if k.up {
		k.vanish()
		k.w.after(d, "host "+k.plan.Name+" boots", k.boot)
	}
}

// vanish is a machine that does not answer any more; the control plane deletes its pods after five minutes.
func (k *kubelet) vanish() {
	k.up = false
	k.w.trace.add(k.w, "host %s is lost", k.plan.Name)
	boots := k.boots
	k.w.after(40*time.Second, "node "+k.plan.Name+" is seen to be away", func() {
		if !k.up && k.boots == boots {
			k.w.editNodeStatus(k.plan.Name, func(n *corev1.Node) { setReady(n, false, k.w.now) })
		}
	})
	k.w.after(340*time.Second, "pods of node "+k.plan.Name+" are deleted", func() {
		if k.up || k.boots != boots {
			return
		}
		for _, pod := range k.w.cluster.Pods() {
			if pod.Spec.NodeName == k.plan.Name && pod.DeletionTimestamp == nil {
				k.w.remove(pod.DeepCopy())
			}
		}
	})
}

// dies is a machine that what runs on it breaks: in a cloud its node is replaced after a while.
func (k *kubelet) dies() {
	k.broken = true
	k.w.after(5*time.Second, "host "+k.plan.Name+" dies", func() {
		if k.up && !k.w.resting {
			k.vanish()
		}
	})
	if after := k.w.plan.Replaces; after > 0 {
		k.w.after(time.Duration(after)*time.Second, "the cloud replaces node "+k.plan.Name, func() {
			if !k.up {
				k.deleteNode()
			}
		})
	}
}

// breaks is a machine that what runs on it breaks, and that the cluster's own health checker finds broken.
func (k *kubelet) breaks() {
	k.broken = true
	k.w.after(5*time.Second, "node "+k.plan.Name+" is found to be broken", func() {
		if !k.w.resting {
			k.w.editNode(k.plan.Name, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, brokenTaint) })
		}
	})
}

// brokenTaint is what a cluster's health checker gives nodes.
var brokenTaint = corev1.Taint{Key: "health.example/broken", Effect: corev1.TaintEffectNoSchedule}

// repaired is a machine that a person put in order again.
func (k *kubelet) repaired() {
	k.boot()
	k.untaint(brokenTaint)
}

// deleteNode removes the node and its pods, as the cloud's machinery does; later the name comes back on a new machine.
func (k *kubelet) deleteNode() {
	k.up = false
	k.host, k.runs = newHost(), map[types.UID]*run{}
	k.w.trace.add(k.w, "node %s is deleted", k.plan.Name)
	if n := k.w.node(k.plan.Name); n != nil {
		k.w.remove(n.DeepCopy())
	}
	name := k.plan.Name
	k.w.after(k.w.seconds(1, 120), "pods of the deleted node "+name+" are removed", func() { k.w.removePodsOf(name) })
	if k.w.chance(0.7) {
		k.w.after(k.w.seconds(1, 200), "node "+name+" is created again", func() {
			if k.w.node(name) == nil {
				k.w.removePodsOf(name) // the garbage collector of pods and a kubelet without memory
				k.w.addNode(k.plan)
			}
		})
	}
}

func (w *World) removePodsOf(node string) {
	if w.node(node) != nil {
		return
	}
	for _, pod := range w.cluster.Pods() {
		if pod.Spec.NodeName == node {
			w.remove(pod.DeepCopy(), client.GracePeriodSeconds(0))
		}
	}
}

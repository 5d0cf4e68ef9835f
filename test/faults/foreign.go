package faults

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// workloadState is a pod of somebody else, and who creates it again.
type workloadState struct {
	PodPlan
	// name of the pod that is there now, if it is.
	name string
	// over says that it ended by itself, or that nobody creates it again.
	over bool
	// coming says that its controller is about to create it.
	coming bool
}

func (w *World) addForeign(p PodPlan) {
	s := &workloadState{PodPlan: p}
	w.foreign = append(w.foreign, s)
	w.createForeign(s)
}

func (w *World) createForeign(s *workloadState) {
	s.coming = false
	if s.over {
		return
	}
	node := s.Node
	if s.Kind == podManaged || s.Kind == podEmptyDir {
		if node = w.schedulable(s.Node); node == "" {
			w.comeBack(s, 10*time.Second)
			return
		}
	}
	if w.node(node) == nil {
		w.comeBack(s, 30*time.Second)
		return
	}
	s.name = w.unique(s.Name)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workloads, Name: s.name, Labels: map[string]string{"app": s.Name},
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: new(int64(s.Grace)),
			Containers: []corev1.Container{{Name: "main", Image: "app"}},
		},
	}
	s.shape(pod)
	w.create(pod)
}

// shape makes the pod what its kind says.
func (s *workloadState) shape(pod *corev1.Pod) {
	owner := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: s.Name,
		UID: types.UID("uid-of-" + s.Name), Controller: new(true),
	}
	switch s.Kind {
	case podDaemon:
		owner.Kind = "DaemonSet"
	case podMirror:
		pod.Annotations[corev1.MirrorPodAnnotationKey] = "hash"
		owner = metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: s.Node, UID: "uid-of-node", Controller: new(true)}
	case podAlone:
		return
	case podProtected:
		pod.Labels[protectedLabel] = "true"
		owner.Kind = "Job"
		owner.APIVersion = "batch/v1"
	case podEmptyDir:
		pod.Spec.Volumes = []corev1.Volume{{
			Name:         "scratch",
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		}}
	}
	if s.Budget != "" {
		pod.Labels["budget"] = s.Budget
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
}

// schedulable is a node that the scheduler would take, the preferred one if possible; "" when none is.
func (w *World) schedulable(preferred string) string {
	var free []string
	for _, n := range w.cluster.Nodes() {
		if n.Spec.Unschedulable || len(n.Spec.Taints) > 0 || !readyNode(n) {
			continue
		}
		if n.Name == preferred {
			return n.Name
		}
		free = append(free, n.Name)
	}
	if len(free) == 0 {
		return ""
	}
	return pick(w.rng, free...)
}

func readyNode(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// workloadsWork lets other controllers create what is missing; false when nothing is.
func (w *World) workloadsWork() bool {
	acted := false
	for _, s := range w.foreign {
		if s.coming || s.over || s.name != "" && w.workload(s.name) != nil {
			continue
		}
		switch s.Kind {
		case podAlone, podProtected:
			s.over = true
		default:
			w.comeBack(s, w.seconds(1, 10))
			acted = true
		}
	}
	return acted
}

func (w *World) comeBack(s *workloadState, d time.Duration) {
	s.coming = true
	w.after(d, "the controller of "+s.Name+" creates its pod", func() { w.createForeign(s) })
}

// foreign takes one step with a pod of somebody else.
func (k *kubelet) foreign(pod *corev1.Pod, r *run) {
	if r.State == podlife.New {
		r.State, r.Until = podlife.Running, podlife.Never
		for _, s := range k.w.foreign {
			if s.name == pod.Name && s.Lives > 0 {
				r.Until = k.w.now.Add(time.Duration(s.Lives) * time.Second)
			}
		}
		k.w.podStatus(pod, func(st *corev1.PodStatus) {
			st.Phase = corev1.PodRunning
			st.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		})
		return
	}
	r.Until = podlife.Never
	if finishedPod(pod) {
		return
	}
	k.w.trace.add(k.w, "pod %s on %s has done its work", pod.Name, k.plan.Name)
	for _, s := range k.w.foreign {
		if s.name == pod.Name {
			s.over = true
		}
	}
	k.w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
}

// disrupt is the disruption controller: what is guarded may go as long as another pod of the budget is healthy.
func (w *World) disrupt(pod *corev1.Pod) string {
	if budget := pod.Labels["budget"]; budget != "" && w.allowed(budget) == 0 {
		return "The disruption budget pdb needs 1 healthy pods and has 1 currently"
	}
	return ""
}

// allowed is how many pods of a budget may go.
func (w *World) allowed(budget string) int {
	healthy := 0
	for _, pod := range w.cluster.Pods() {
		if pod.Labels["budget"] == budget && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			healthy++
		}
	}
	switch {
	case w.faults.strict:
		return 0
	case w.faults.loose:
		return max(1, healthy)
	}
	return max(0, healthy-1)
}

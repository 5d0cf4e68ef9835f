package drain

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mayReturn is how many pods of one controller may come to the node during its drain, and be evicted: a scheduler that
	// has yet to see the cordon sends some.
	mayReturn = 2
	// sameDrain is the longest pause between two looks of one drain. Between drains a node gets new pods rightly.
	sameDrain = time.Hour
)

// Memory is what one drain of one node remembers of its passes. Nothing but what people are told depends on it: without
// it, as after a restart, pods that return are evicted a few times more. The zero value is the memory of a drain that
// begins; it is not for several goroutines.
type Memory struct {
	looked time.Time
	// began are the pods of the first look, evicted those whose eviction was accepted.
	began, evicted map[types.UID]bool
	// returned counts, by controller, the evicted pods that came after the first look.
	returned map[types.UID]int
	// refused is what the API said last of evictions that it refused: a pass may not come to ask for every pod.
	refused map[types.UID]string
}

// Look notes the pods that are on the node, before they are classified.
func (m *Memory) Look(pods []corev1.Pod, now time.Time) {
	if m.began == nil || now.Sub(m.looked) > sameDrain {
		*m = Memory{began: make(map[types.UID]bool, len(pods)), evicted: map[types.UID]bool{}, returned: map[types.UID]int{}}
		for i := range pods {
			m.began[pods[i].UID] = true
		}
	}
	m.looked = now
}

// Evicted notes evictions that were accepted, and returns those of pods that had not been evicted before.
func (m *Memory) Evicted(pods []Pod) (first []Pod) {
	for _, pod := range pods {
		delete(m.refused, pod.UID)
		if m.evicted[pod.UID] {
			continue // the list that it was chosen from was old
		}
		if m.evicted == nil {
			m.evicted, m.returned = map[types.UID]bool{}, map[types.UID]int{}
		}
		m.evicted[pod.UID] = true
		if m.began != nil && !m.began[pod.UID] && pod.Controller != "" {
			m.returned[pod.Controller]++
		}
		first = append(first, pod)
	}
	return first
}

// refuse notes evictions that were refused.
func (m *Memory) refuse(refused map[types.UID]string) {
	if m == nil || len(refused) == 0 {
		return
	}
	if m.refused == nil {
		m.refused = make(map[types.UID]string, len(refused))
	}
	maps.Copy(m.refused, refused)
}

// refusal is what the API said when it refused the eviction of a pod in an earlier pass.
func (m *Memory) refusal(pod types.UID) (string, bool) {
	if m == nil {
		return "", false
	}
	message, ok := m.refused[pod]
	return message, ok
}

// returns counts the pods of a pod's controller that came and were evicted before it; 0 for one that was there at
// first.
func (m *Memory) returns(pod Pod) int {
	if m == nil || pod.Controller == "" || m.began[pod.UID] || m.evicted[pod.UID] {
		return 0
	}
	return m.returned[pod.Controller]
}

// returning says why a pod is not evicted once more, and what to do about it, within what a record keeps of a message.
func (m *Memory) returning(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	cause, remedy := "bound past the scheduler", "correct spec.nodeName or their scheduler"
	if toleratesCordon(pod) {
		cause, remedy = "they tolerate the cordon", "remove that toleration"
	}
	return fmt.Sprintf("after %d evictions %s %s still puts its pods here, %s; %s or scale it down, then delete the pod",
		m.returned[owner.UID], owner.Kind, owner.Name, cause, remedy)
}

func toleratesCordon(pod *corev1.Pod) bool {
	for _, t := range pod.Spec.Tolerations {
		key := t.Key == corev1.TaintNodeUnschedulable || t.Key == "" && t.Operator == corev1.TolerationOpExists
		value := t.Operator == corev1.TolerationOpExists || t.Value == ""
		effect := t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule
		if key && value && effect {
			return true
		}
	}
	return false
}

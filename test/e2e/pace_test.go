//go:build e2e && nightly

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// moments of a package pod: when the watch showed its creation, and the end of each init container.
type moments struct {
	node, stage string
	created     time.Time
	ended       []time.Time
}

// stopwatch takes the time of what the API shows, as containers' own times are whole seconds.
type stopwatch struct {
	skyhook string

	mu   sync.Mutex
	pods map[types.UID]*moments
}

func timePods(t *testing.T, skyhook string) *stopwatch {
	t.Helper()
	s := &stopwatch{skyhook: skyhook, pods: map[types.UID]*moments{}}
	watchEvents(t, &corev1.PodList{}, func(e watch.Event) { s.see(e, time.Now()) })
	return s
}

func (s *stopwatch) see(e watch.Event, now time.Time) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha1.LabelName] != s.skyhook || len(pod.Spec.InitContainers) < 3 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.pods[pod.UID]
	if m == nil {
		stage := pod.Spec.InitContainers[1].Name
		m = &moments{node: pod.Spec.NodeName, stage: stage[strings.LastIndexByte(stage, '-')+1:], created: now}
		s.pods[pod.UID] = m
	}
	ended := 0
	for _, c := range pod.Status.InitContainerStatuses {
		if c.State.Terminated != nil {
			ended++
		}
	}
	for len(m.ended) < ended {
		m.ended = append(m.ended, now)
	}
}

// stages are those that ended, in the order of their pods.
func (s *stopwatch) stages() []*moments {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*moments
	for _, m := range s.pods {
		if len(m.ended) == 3 {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *moments) int { return a.created.Compare(b.created) })
	return list
}

// median of durations, of which there are some.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestSecondsPerStage: what a stage takes beyond its scripts, which do nothing here, is the kubelet's: four containers
// of which each starts when the kubelet has seen the one before end, once a second, or when the
// machine lets it. The operator adds little: the pod of the next stage is there soon after the end of the check, while
// the last container of the pod before still runs.
func TestSecondsPerStage(t *testing.T) {
	nothing := map[string]string{
		"apply.sh": "true", "apply_check.sh": "true", "config.sh": "true", "config_check.sh": "true",
	}
	ownNodes(t, nodeCount)
	clock := timePods(t, "pace")
	apply(t, "pace", skyhook("pace", nothing))
	waitReady(t, "pace")
	for i := range 3 { // the images are there now
		mustKubectl(t, "", "patch", "skyhook", "pace", "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"packages":{"scripts":{"configMap":{"config.sh":"true # %d"}}}}}`, i))
		waitReady(t, "pace")
	}
	var whole, copies, steps, checks, handovers []time.Duration
	last := map[string]*moments{}
	for _, m := range clock.stages() {
		whole = append(whole, m.ended[2].Sub(m.created))
		copies = append(copies, m.ended[0].Sub(m.created))
		steps = append(steps, m.ended[1].Sub(m.ended[0]))
		checks = append(checks, m.ended[2].Sub(m.ended[1]))
		if before := last[m.node]; before != nil && before.stage == "apply" {
			handovers = append(handovers, m.created.Sub(before.ended[2]))
		}
		last[m.node] = m
	}
	if want := 5 * nodeCount; len(whole) < want || len(handovers) < nodeCount {
		t.Fatalf("saw %d stages and %d handovers, want %d and %d at least", len(whole), len(handovers), want, nodeCount)
	}
	t.Logf("median of %d stages without work: %s; until the copy has ended %s, the stage %s, its check %s; then the next pod %s",
		len(whole), median(whole), median(copies), median(steps), median(checks), median(handovers))
	if got := median(handovers); got > time.Second {
		t.Errorf("the pod of the next stage comes %s after the end of the one before", got)
	}
}

package node

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLeftNodeTellsOfAPodThatDoesNotEnd: a node that a Skyhook no longer selects writes nothing while a pod may end in
// time, says so once when it does not, and is rid of all of it when the pod is gone.
func TestLeftNodeTellsOfAPodThatDoesNotEnd(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	s.Spec.NodeSelectors.MatchLabels = map[string]string{"another": "pool"}
	remember(t, n, s.Name, entry("apply", "in_progress"))
	n.Status.Conditions = newNode().Status.Conditions // gone since it left; the API server in memory keeps them
	pod := podOf(t, s)
	pod.Finalizers, pod.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: start}
	w := newWorld(t, s, n, pod)
	for _, c := range []struct {
		at    time.Duration
		again time.Duration
		wait  string
		write bool
	}{
		{at: time.Second, again: 29 * time.Second},
		{at: 30 * time.Second, wait: "WaitingForPodToEnd", write: true},
		{at: 10 * time.Minute, wait: "WaitingForPodToEnd"},
	} {
		w.order = nil
		w.clock.SetTime(start.Add(c.at))
		result, got := w.reconcile(), w.record(s.Name)
		told := ""
		if got.Wait != nil {
			told = got.Wait.Reason
			if !strings.Contains(got.Wait.Message, "`kubectl get pod -n "+namespace+" "+pod.Name) {
				t.Errorf("after %s: told %+v", c.at, got.Wait)
			}
		}
		if told != c.wait || (len(w.order) > 0) != c.write || result.RequeueAfter != c.again || got.FinishedPermit != "" || len(got.Packages) != 1 {
			t.Errorf("after %s: told %q, wrote %v, again after %s, record %+v", c.at, told, w.order, result.RequeueAfter, got)
		}
	}
	var now corev1.Pod
	w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &now))
	now.Finalizers = nil
	w.must(w.Client.Update(t.Context(), &now))
	w.reconcile()
	if got := w.record(s.Name); got.Wait != nil || got.FinishedPermit == "" {
		t.Errorf("when it is gone: %+v", got)
	}
}

package node

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
)

// asking is an API server that answers no eviction before it may.
type asking struct {
	began, ended chan struct{}
	may          chan map[types.UID]string
}

func (a asking) Evict(
	ctx context.Context, pods []drain.Pod, _ drain.Options,
) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	a.began <- struct{}{}
	defer func() { a.ended <- struct{}{} }()
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case refused = <-a.may:
	}
	for _, pod := range pods {
		if refused[pod.UID] == "" {
			accepted = append(accepted, pod)
		}
	}
	return accepted, refused, nil
}

// slowly is a node that is drained, at an API server that takes its time.
func slowly(t *testing.T) (*world, asking) {
	t.Helper()
	w, _ := rebooting(t)
	a := asking{make(chan struct{}, 9), make(chan struct{}, 9), make(chan map[types.UID]string)}
	w.Evictor, w.Patience = a, time.Millisecond
	w.tries(3)
	if len(a.began) != 1 {
		t.Fatalf("three passes asked %d times", len(a.began))
	}
	return w, a
}

// TestEvictionsThatTakeLong: no pass waits for them, none asks twice, and the next one has their answers.
func TestEvictionsThatTakeLong(t *testing.T) {
	w, a := slowly(t)
	a.may <- map[types.UID]string{"uid-web-1": "not now"}
	<-a.ended
	w.Patience = time.Minute
	w.reconcile()
	if wait := w.record("demo").Wait; wait == nil || wait.Reason != v1alpha1.ReasonEvictionRefused {
		t.Errorf("waits for %+v", wait)
	}
	if len(a.began) != 1 {
		t.Errorf("asked again with the answers")
	}
}

// TestEvictionsThatNobodyWants: somebody pauses the Skyhook.
func TestEvictionsThatNobodyWants(t *testing.T) {
	w, a := slowly(t)
	s := newSkyhook("demo")
	w.must(w.Client.Get(t.Context(), types.NamespacedName{Name: "demo"}, s))
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationPause, "true")
	w.must(w.Client.Update(t.Context(), s))
	w.reconcile()
	select {
	case <-a.ended:
	case <-time.After(time.Minute):
		t.Error("they are asked for after the pause")
	}
}

// TestEvictionsThatWereAnsweredLate are told, although all pods are gone by then.
func TestEvictionsThatWereAnsweredLate(t *testing.T) {
	w, a := slowly(t)
	a.may <- nil
	<-a.ended
	w.must(w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}))
	w.reconcile()
	if told := w.told("evicted pod shop/web-1"); len(told) != 1 {
		t.Errorf("told %q", told)
	}
}

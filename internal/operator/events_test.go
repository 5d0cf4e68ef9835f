package operator

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
)

// notes is an API server that keeps the note of each event, and how often it was told.
type notes struct {
	mu   sync.Mutex
	told map[string]int32
}

func (n *notes) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told[e.Note]++
	return e, nil
}

func (n *notes) Update(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return n.Create(ctx, e)
}

func (n *notes) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told[e.Note] = e.Series.Count
	return e, nil
}

func (n *notes) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.told)
}

func nodeNumber(i int) *corev1.Node {
	name := fmt.Sprintf("node-%05d", i)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return ok(), nil
	})
	if err != nil {
		t.Fatalf("never %s", what)
	}
}

// TestEventsOfManyNodes tells more events than the recorder remembers: each arrives once, what it remembers stays
// small, and all its goroutines end with it.
func TestEventsOfManyNodes(t *testing.T) {
	sink := &notes{told: map[string]int32{}}
	opened := 0
	e := &eventRecorder{open: func() broadcast { opened++; return openBroadcast(sink, scheme.Scheme) }}
	before := goruntime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Start(ctx) }()
	const all = 5*rememberedEvents + 1
	for i := range all {
		e.Eventf(nodeNumber(i), nil, corev1.EventTypeNormal, "Apply", "apply", "event %d", i)
		if i%500 == 0 { // a broadcaster drops what comes when 1,000 are queued
			waitFor(t, "written", func() bool { return sink.count() == i+1 })
		}
	}
	waitFor(t, "all written", func() bool { return sink.count() == all })
	if opened != 6 {
		t.Errorf("%d broadcasters for %d events, want 6", opened, all)
	}
	for note, n := range sink.told {
		if n != 1 {
			t.Errorf("%s was told %d times", note, n)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	e.Eventf(nodeNumber(all), nil, corev1.EventTypeNormal, "Apply", "apply", "too late")
	waitFor(t, "rid of its goroutines", func() bool { return goruntime.NumGoroutine() <= before })
	if sink.count() != all {
		t.Error("an event after the end was told")
	}
}

// TestEventsRepeated expects one event with a count, not one each time.
func TestEventsRepeated(t *testing.T) {
	sink := &notes{told: map[string]int32{}}
	e := &eventRecorder{open: func() broadcast { return openBroadcast(sink, scheme.Scheme) }}
	for range 2 {
		before := sink.count()
		e.Eventf(nodeNumber(1), nil, corev1.EventTypeWarning, "PassFailed", "Pass", "the API server is away")
		waitFor(t, "written", func() bool { return sink.count() > 0 || before > 0 })
	}
	waitFor(t, "counted", func() bool {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return sink.told["the API server is away"] == 2
	})
}

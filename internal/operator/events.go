package operator

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
)

// rememberedEvents is how many events one broadcaster of client-go tells. It keeps each for 6 to 12 minutes, to count
// repetitions, in a map that never shrinks: 34 MiB for the 30,000 of a rollout over 10,000 nodes.
const rememberedEvents = 2048

// eventRecorder records events through one broadcaster after another, so that it remembers no more than twice
// rememberedEvents. The one before the last still writes what it has, and is then stopped.
type eventRecorder struct {
	open func() broadcast

	mu        sync.Mutex
	told      int
	now, last broadcast
	stopped   bool
}

// broadcast is one broadcaster; both are nil before there is one.
type broadcast struct {
	events.EventRecorder

	stop func()
}

// newEvents returns what records events for all controllers of mgr, and adds it to mgr, which stops it.
func newEvents(mgr ctrl.Manager) (events.EventRecorder, error) {
	client, err := typedeventsv1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	e := &eventRecorder{open: func() broadcast {
		return openBroadcast(&events.EventSinkImpl{Interface: client}, mgr.GetScheme())
	}}
	if err := mgr.Add(e); err != nil {
		return nil, fmt.Errorf("add the recorder of events: %w", err)
	}
	return e, nil
}

func openBroadcast(sink events.EventSink, scheme *runtime.Scheme) broadcast {
	b := events.NewBroadcaster(sink)
	ctx, cancel := context.WithCancel(context.Background())
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		ctrl.Log.WithName("events").Error(err, "events are not recorded")
	}
	return broadcast{b.NewRecorder(scheme, recorder), func() { b.Shutdown(); cancel() }}
}

// Eventf records an event, as [events.EventRecorder] says.
func (e *eventRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return
	}
	if e.told%rememberedEvents == 0 {
		e.last.close()
		e.last, e.now = e.now, e.open()
	}
	e.told++
	e.now.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

// Start waits for the end of ctx and stops the recorder.
func (e *eventRecorder) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.last.close()
	e.now.close()
	return nil
}

// NeedLeaderElection is false: a replica that does not lead may have to say so.
func (*eventRecorder) NeedLeaderElection() bool { return false }

func (b broadcast) close() {
	if b.stop != nil {
		b.stop()
	}
}

package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
)

// EventType is what happened to an object, as an informer tells it.
type EventType string

// The types of events.
const (
	Created EventType = "create"
	Updated EventType = "update"
	Deleted EventType = "delete"
)

// Event is a change that a cache has taken over. Old is nil for Created, New for Deleted. The two are of different UIDs
// when an informer missed that the object was deleted and made again.
type Event struct {
	Type     EventType
	Kind     Kind
	Old, New client.Object
	// Unknown says of an object that was deleted that Old may not be what it was last.
	Unknown bool
}

// Wake feeds the event to the sources of its kind as a started controller does: through predicates and handlers into
// the queue.
func (e Event) Wake(ctx context.Context, sources []state.Source, q *Queue) {
	for _, s := range sources {
		if k, err := kindOf(s.Object); err == nil && k == e.Kind {
			e.wake(ctx, s, q)
		}
	}
}

func (e Event) wake(ctx context.Context, s state.Source, q *Queue) {
	wanted := predicate.And(s.Predicates...)
	switch e.Type {
	case Created:
		if told := (event.CreateEvent{Object: e.New}); wanted.Create(told) {
			s.Handler.Create(ctx, told, q)
		}
	case Updated:
		if told := (event.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New}); wanted.Update(told) {
			s.Handler.Update(ctx, told, q)
		}
	case Deleted:
		if told := (event.DeleteEvent{Object: e.Old, DeleteStateUnknown: e.Unknown}); wanted.Delete(told) {
			s.Handler.Delete(ctx, told, q)
		}
	}
}

// evictor asks for evictions as the operator's own does, without its transport.
type evictor struct{ cluster *Cluster }

// Evict implements node.Evictor.
func (e evictor) Evict(_ context.Context, pods []drain.Pod, o drain.Options) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	refused = map[types.UID]string{}
	var errs []error
	for _, pod := range pods {
		options := &client.DeleteOptions{
			GracePeriodSeconds: o.GracePeriodSeconds,
			Preconditions:      &metav1.Preconditions{UID: &pod.UID},
		}
		err := e.cluster.evict(client.ObjectKey{Namespace: pod.Namespace, Name: pod.Name}, options)
		var status *apierrors.StatusError
		switch {
		case err == nil:
			accepted = append(accepted, pod)
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		case apierrors.IsTooManyRequests(err) && errors.As(err, &status) && len(status.ErrStatus.Details.Causes) > 0:
			refused[pod.UID] = status.ErrStatus.Details.Causes[0].Message
		default:
			errs = append(errs, fmt.Errorf("evict pod %s: %w", pod, err))
		}
	}
	return accepted, refused, errors.Join(errs...)
}

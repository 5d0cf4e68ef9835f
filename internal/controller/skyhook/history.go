package skyhook

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

const (
	// historyEvery is how often a history is written at most, but for the begin and the end of a rollout.
	historyEvery = 10 * time.Minute
	// historyRetry is the pause after a history that could not be written.
	historyRetry = time.Minute
)

// past is what this process knows of the history of a Skyhook and did not write yet.
type past struct {
	stages history.Stages
	// failed are the nodes that were seen failing with this generation.
	failed     map[string]bool
	generation int64
	// due is when it is to be written; zero while nothing is.
	due time.Time
	// again is how long after the pass that is; 0 while nothing is, or no pass looked.
	again time.Duration
	// told is what people were told of last, while it lasts.
	told string
}

// remember keeps the history of a Skyhook: a rollout that begins or ends at once, everything else some minutes later, in
// one write. Nothing else depends on it, so whatever goes wrong is told, and holds up nothing.
func (r *Reconciler) remember(ctx context.Context, s *v1alpha1.Skyhook, nodes []rollout.Node) {
	p, now := &r.memory.Of(s).past, r.Clock.Now()
	p.stages = p.stages.Merge(r.Durations.Take(s.Name))
	defer func() {
		if !p.due.IsZero() {
			p.again = max(passInterval, p.due.Sub(now))
		}
	}()
	if s.Status.ObservedGeneration != s.Generation || p.told != "" && now.Before(p.due) {
		return
	}
	err := r.updateHistory(ctx, s, p, p.look(s, nodes, now))
	switch o := obstacleOf(err); {
	case err == nil:
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the cache is behind
		p.due = now.Add(passInterval)
	case o != nil && o.frees == record.FreesTime: // what an earlier Skyhook left goes soon
		p.due = now.Add(historyRetry)
	default:
		// It may have been written all the same, and no run is counted twice.
		p.stages, p.due = nil, now.Add(historyRetry)
		r.tellHistory(s, p, err)
	}
}

// look sums up what the nodes are at.
func (p *past) look(s *v1alpha1.Skyhook, nodes []rollout.Node, now time.Time) history.Seen {
	if p.generation != s.Generation {
		p.generation, p.failed = s.Generation, map[string]bool{}
	}
	seen := history.Seen{Generation: s.Generation, Now: now}
	for i := range nodes {
		if !nodes[i].Facts.Complete {
			seen.Incomplete++
		}
		if nodes[i].Facts.FailedRun {
			p.failed[nodes[i].Name] = true
		}
	}
	seen.Failed = len(p.failed)
	if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
		ready.Status == metav1.ConditionTrue {
		seen.CompleteSince = ready.LastTransitionTime.Time
	}
	return seen
}

func (r *Reconciler) updateHistory(ctx context.Context, s *v1alpha1.Skyhook, p *past, seen history.Seen) error {
	have, err := r.historyOf(ctx, s)
	if err != nil {
		return err
	}
	rollouts, unreadable := history.ReadRollouts(have.Data)
	if rollouts.Begins(seen) {
		if seen.Author, err = r.author(ctx, s); err != nil {
			return err
		}
	}
	next, turned := rollouts.Next(seen)
	switch now := seen.Now; {
	case turned, unreadable != nil:
	case len(p.stages) == 0 && reflect.DeepEqual(next, rollouts):
		p.due, p.told = time.Time{}, ""
		return nil
	case p.due.IsZero():
		p.due = now.Add(historyEvery)
		return nil
	case now.Before(p.due):
		return nil
	}
	stages, lost := history.ReadStages(have.Data)
	want := r.Workload.History(s, history.Data(next, stages.Merge(p.stages)))
	if want.ResourceVersion = have.ResourceVersion; have.ResourceVersion == "" {
		err = r.Client.Create(ctx, want, client.FieldOwner(fieldManager))
	} else {
		err = r.Client.Update(ctx, want, client.FieldOwner(fieldManager))
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", want.Name, err)
	}
	p.stages, p.due, p.told = nil, time.Time{}, ""
	if lost = errors.Join(unreadable, lost); lost != nil {
		r.tellHistory(s, p, fmt.Errorf("ConfigMap %s: %w; the history starts over", want.Name, lost))
		p.told = "" // it is over
	}
	return nil
}

// historyOf reads the ConfigMap with the history of a Skyhook; an empty one if there is none.
func (r *Reconciler) historyOf(ctx context.Context, s *v1alpha1.Skyhook) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	key := client.ObjectKeyFromObject(r.Workload.History(s, nil))
	if err := r.Client.Get(ctx, key, &cm); apierrors.IsNotFound(err) {
		return &corev1.ConfigMap{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
	}
	if !metav1.IsControlledBy(&cm, s) {
		return nil, taken("ConfigMap", &cm, s, v1alpha1.EventHistoryLost)
	}
	return &cm, nil
}

// author asks who changed the spec: caches drop that. Once for a rollout.
func (r *Reconciler) author(ctx context.Context, s *v1alpha1.Skyhook) (string, error) {
	var live v1alpha1.Skyhook
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s), &live); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get Skyhook %s: %w", s.Name, err)
	}
	if live.UID != s.UID || live.Generation != s.Generation {
		return "", nil // somebody changed it since
	}
	return history.Author(live.ManagedFields), nil
}

// tellHistory tells of what went wrong, once for as long as it is the same.
func (r *Reconciler) tellHistory(s *v1alpha1.Skyhook, p *past, err error) {
	if p.told == err.Error() {
		return
	}
	p.told = err.Error()
	r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.EventHistoryLost, "Plan", "%v", err)
}

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
	"github.com/skyhook-operator/skyhook/internal/workload"
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
	// failed are the nodes that were seen failing with this generation, and failedBefore with the one before it.
	failed, failedBefore map[string]bool
	generation           int64
	// due is when it is to be written; zero while nothing is.
	due time.Time
	// again is how long after the pass that is; 0 while nothing is, or no pass looked.
	again time.Duration
	// told is what people were told of last, while it lasts.
	told string
}

// remember keeps the history of a Skyhook: a rollout that begins or ends at once, everything else some minutes later, in
// one write. Nothing else depends on it, so whatever goes wrong is told, and holds up nothing.
func (p *pass) remember(ctx context.Context) {
	s, past, now := p.skyhook, &p.known.past, p.Clock.Now()
	past.stages = past.stages.Merge(p.Durations.Take(s.Name))
	defer func() {
		if !past.due.IsZero() {
			past.again = max(passInterval, past.due.Sub(now))
		}
	}()
	if s.Status.ObservedGeneration != s.Generation || past.told != "" && now.Before(past.due) {
		return
	}
	err := p.updateHistory(ctx, now)
	switch o := obstacleOf(err); {
	case err == nil:
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // the cache is behind
		past.due = now.Add(passInterval)
	case o != nil && o.frees == record.FreesTime: // what an earlier Skyhook left goes soon
		past.due = now.Add(historyRetry)
	default:
		// It may have been written all the same, and no run is counted twice.
		past.stages, past.due = nil, now.Add(historyRetry)
		p.tellHistory(err)
	}
}

// look sums up what the nodes are at. What failed before the rollout of this generation began is a failure of the one
// before: a rollback is not what broke the nodes that it repairs.
func (p *past) look(s *v1alpha1.Skyhook, nodes []rollout.Node, rollouts history.Rollouts, now time.Time) history.Seen {
	if p.generation != s.Generation {
		p.generation, p.failedBefore, p.failed = s.Generation, p.failed, map[string]bool{}
	}
	if p.failedBefore == nil {
		p.failedBefore = map[string]bool{}
	}
	seen := history.Seen{Generation: s.Generation, Now: now}
	began := rollouts.Began(s.Generation, now)
	for i := range nodes {
		n := &nodes[i]
		if !n.Facts.Complete {
			seen.Incomplete++
		}
		switch before := n.Failure != nil && !n.Failure.Since.IsZero() && n.Failure.Since.Time.Before(began); {
		case !n.Facts.FailedRun:
		case before:
			p.failedBefore[n.Name] = true
		default:
			p.failed[n.Name] = true
		}
	}
	seen.Failed, seen.FailedBefore = len(p.failed), len(p.failedBefore)
	if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
		ready.Status == metav1.ConditionTrue {
		seen.CompleteSince = ready.LastTransitionTime.Time
	}
	return seen
}

func (p *pass) updateHistory(ctx context.Context, now time.Time) error {
	past := &p.known.past
	have, err := p.historyOf(ctx)
	if err != nil {
		return err
	}
	rollouts, unreadable := history.ReadRollouts(have.Data)
	seen := past.look(p.skyhook, p.in.Nodes, rollouts, now)
	if rollouts.Begins(seen) {
		seen.Definitions = definitionsOf(p.skyhook)
		if seen.Author, err = authorOf(ctx, p.Live, p.skyhook); err != nil {
			return err
		}
	}
	next, turned := rollouts.Next(seen)
	switch {
	case turned, unreadable != nil:
	case len(past.stages) == 0 && reflect.DeepEqual(next, rollouts):
		past.due, past.told = time.Time{}, ""
		return nil
	case past.due.IsZero():
		past.due = now.Add(historyEvery)
		return nil
	case now.Before(past.due):
		return nil
	}
	stages, lost := history.ReadStages(have.Data)
	want := p.Workload.History(p.skyhook, history.Data(next, stages.Merge(past.stages)))
	if want.ResourceVersion = have.ResourceVersion; have.ResourceVersion == "" {
		err = p.Client.Create(ctx, want, client.FieldOwner(fieldManager))
	} else {
		err = p.Client.Update(ctx, want, client.FieldOwner(fieldManager))
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", want.Name, err)
	}
	past.stages, past.due, past.told = nil, time.Time{}, ""
	if lost = errors.Join(unreadable, lost); lost != nil {
		p.tellHistory(fmt.Errorf("ConfigMap %s: %w; the history starts over", want.Name, lost))
		past.told = "" // it is over
	}
	return nil
}

// definitionsOf are the names under which the definitions of the packages are retained.
func definitionsOf(s *v1alpha1.Skyhook) map[string]string {
	all := make(map[string]string, len(s.Spec.Packages))
	for name := range s.Spec.Packages {
		all[name] = workload.DefinitionOf(s, name).Hash()
	}
	return all
}

// historyOf reads the ConfigMap with the history of a Skyhook; an empty one if there is none.
func (p *pass) historyOf(ctx context.Context) (*corev1.ConfigMap, error) {
	s := p.skyhook
	var cm corev1.ConfigMap
	key := client.ObjectKeyFromObject(p.Workload.History(s, nil))
	if err := p.Client.Get(ctx, key, &cm); apierrors.IsNotFound(err) {
		return &corev1.ConfigMap{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
	}
	if !metav1.IsControlledBy(&cm, s) {
		return nil, taken("ConfigMap", &cm, s, v1alpha1.EventHistoryLost)
	}
	return &cm, nil
}

// authorOf asks who changed a spec: caches drop that. Once for a rollout.
func authorOf(ctx context.Context, reader client.Reader, s *v1alpha1.Skyhook) (string, error) {
	var live v1alpha1.Skyhook
	if err := reader.Get(ctx, client.ObjectKeyFromObject(s), &live); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get Skyhook %s: %w", s.Name, err)
	}
	if live.UID != s.UID || live.Generation != s.Generation {
		return "", nil // somebody changed it since
	}
	return history.Author(live.ManagedFields), nil
}

// tellHistory tells of what went wrong, once for as long as it is the same.
func (p *pass) tellHistory(err error) {
	past := &p.known.past
	if past.told == err.Error() {
		return
	}
	past.told = err.Error()
	p.Events.Eventf(p.skyhook, nil, corev1.EventTypeWarning, v1alpha1.EventHistoryLost, "Plan", "%v", err)
}

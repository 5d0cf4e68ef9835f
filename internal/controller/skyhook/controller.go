// Package skyhook holds the controller that looks at one Skyhook at a time: it reads its nodes' records from the cache,
// asks rollout which nodes may work, and writes the permits and the status once per pass.
//
// It is the only writer of Skyhook status and of package ConfigMaps. It never writes a spec and never touches a node.
package skyhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/targets"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const (
	// Finalizer keeps a Skyhook until its nodes are free of it.
	Finalizer = v1alpha1.GroupName + "/skyhook"
	// fieldManager owns what this controller applies.
	fieldManager = "skyhook-controller"
	// passInterval is how often one Skyhook is looked at, at most: bursts of node changes become one pass.
	passInterval = time.Second
)

// Reconciler plans the rollout of one Skyhook.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server, for the last look before a finalizer goes.
	Live     client.Reader
	Events   events.EventRecorder
	Clock    clock.PassiveClock
	Targets  *targets.Index
	Records  *targets.Records
	Policies *targets.Policies
	Workload workload.Options
	// Version of the operator, kept in an annotation.
	Version string

	pacer pacer
}

// Reconcile plans one Skyhook.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var s v1alpha1.Skyhook
	if err := r.Client.Get(ctx, req.NamespacedName, &s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := r.pacer.wait(s.UID, s.Generation, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := r.reconcile(ctx, s.DeepCopy())
	if apierrors.IsConflict(err) {
		// The cache was behind; the change that it missed wakes this Skyhook, at the latest this does.
		return ctrl.Result{RequeueAfter: passInterval}, nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) reconcile(ctx context.Context, s *v1alpha1.Skyhook) error {
	if s.DeletionTimestamp != nil {
		return r.finalize(ctx, s)
	}
	if err := r.claim(ctx, s); err != nil {
		return err
	}
	target := r.Targets.Of(s)
	in, err := r.input(ctx, s, target)
	if err != nil {
		return err
	}
	if target.Invalid == "" {
		if err := r.prepare(ctx, s, in); err != nil {
			return err
		}
	}
	if err := r.writeStatus(ctx, s, rollout.Plan(in.Input)); err != nil {
		return err
	}
	return r.pruneDefinitions(ctx, s)
}

// prepare writes all that a node needs before it gets a permit.
func (r *Reconciler) prepare(ctx context.Context, s *v1alpha1.Skyhook, in input) error {
	if err := r.retain(ctx, s); err != nil {
		return err
	}
	return r.writeConfigMaps(ctx, s, in.undoing)
}

// claim puts the finalizer and the operator's version on the Skyhook. It patches metadata only: the spec and with it
// the generation stay the user's.
func (r *Reconciler) claim(ctx context.Context, s *v1alpha1.Skyhook) error {
	before := s.DeepCopy()
	controllerutil.AddFinalizer(s, Finalizer)
	if s.Annotations[v1alpha1.GroupName+"/version"] != r.Version {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[v1alpha1.GroupName+"/version"] = r.Version
	}
	if equality.Semantic.DeepEqual(before.ObjectMeta, s.ObjectMeta) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, s, patch); err != nil {
		return fmt.Errorf("claim Skyhook %s: %w", s.Name, err)
	}
	return nil
}

// writeStatus stores the plan. All permits are in this one object, and it is compared and swapped: a plan made from an
// old view of the permits is refused.
func (r *Reconciler) writeStatus(ctx context.Context, s *v1alpha1.Skyhook, status v1alpha1.SkyhookStatus) error {
	if equality.Semantic.DeepEqual(s.Status, status) {
		return nil
	}
	before := s.DeepCopy()
	s.Status = status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, s, patch); err != nil {
		return fmt.Errorf("write the status of Skyhook %s: %w", s.Name, err)
	}
	r.warn(s, before.Status)
	if from, to := before.Status.Status, status.Status; from != to {
		if from == "" {
			from = v1alpha1.StatusUnknown
		}
		r.Events.Eventf(s, nil, corev1.EventTypeNormal, "State", "Plan", "transitioned [%s] -> [%s]", from, to)
	}
	return nil
}

// warn sends an event for a condition that people have to act on, when it comes up or changes.
func (r *Reconciler) warn(s *v1alpha1.Skyhook, before v1alpha1.SkyhookStatus) {
	for _, kind := range []string{rollout.ConditionDeletionBlocked, rollout.ConditionUninstallFailed, rollout.ConditionUninstallRequired} {
		now, last := meta.FindStatusCondition(s.Status.Conditions, kind), meta.FindStatusCondition(before.Conditions, kind)
		if now != nil && (last == nil || last.Reason != now.Reason) {
			r.Events.Eventf(s, nil, corev1.EventTypeWarning, kind, "Plan", "%s", now.Message)
		}
	}
}

// pacer spaces the passes over a Skyhook. It is no state that a decision depends on: after a restart the first pass is
// simply not delayed.
type pacer struct {
	mu   sync.Mutex
	last map[types.UID]pass
}

type pass struct {
	at         time.Time
	generation int64
}

// wait returns how long the next pass has to wait; 0 when it may run now, which is then counted. A new generation never
// waits: somebody is looking.
func (p *pacer) wait(uid types.UID, generation int64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[uid]
	if left := last.at.Add(passInterval).Sub(now); ok && last.generation == generation && left > 0 {
		return left
	}
	if p.last == nil {
		p.last = map[types.UID]pass{}
	}
	p.last[uid] = pass{at: now, generation: generation}
	return 0
}

func (p *pacer) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, uid)
}

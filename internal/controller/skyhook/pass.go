package skyhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// pass is one look at one Skyhook.
type pass struct {
	*state.Shared
	reconciler *Reconciler
	// known is what this process knows of the Skyhook beyond its cache.
	known *memory
	// skyhook is as the pass changes it, and target what its spec asks for.
	skyhook  *v1alpha1.Skyhook
	target   *state.Target
	snapshot state.Snapshot
	pace     state.Pace
	// in is what the plan depends on, and others are the nodes that are not selected.
	in     rollout.Input
	others []*corev1.Node
	// detailed says that the fleet is small enough for the status to show every node.
	detailed bool
	// uninstalling are the definitions that packages are uninstalled with on some node, by their names.
	uninstalling map[string]situation.Removal
	// needs are the definitions that selected nodes name beside those of the spec.
	needs   needs
	remains remains
	// unhashed are packages of which only another operator's ConfigMap tells what some node configured them with.
	unhashed map[string]bool
	// census is what is counted for metrics.
	census metrics.Census
	// complete counts nodes by package, while an uninstall is asked for.
	complete map[string]int
	// unsure says that it could not be found out whether a node that holds a permit is gone: look again soon.
	unsure error
}

func (r *Reconciler) newPass(s *v1alpha1.Skyhook) *pass {
	return &pass{
		Shared: &r.Shared, reconciler: r, known: r.memory.Of(s), skyhook: s, target: r.Targets.Of(s),
		uninstalling: map[string]situation.Removal{}, needs: needs{of: map[string]bool{}}, remains: remains{},
		unhashed: map[string]bool{}, complete: map[string]int{},
		census: metrics.Census{Outlines: map[record.Outline]int{}, Failing: map[string]int{}},
	}
}

func (p *pass) reconcile(ctx context.Context) error {
	if p.skyhook.DeletionTimestamp != nil {
		return p.finalize(ctx)
	}
	unprepared := p.claim(ctx)
	if unprepared != nil && obstacleOf(unprepared) == nil {
		return unprepared
	}
	err := p.read(ctx)
	if err != nil {
		return err
	}
	defer p.reconciler.spareNodes(p.in.Nodes)
	if unprepared == nil {
		unprepared = p.prepare(ctx)
	}
	p.obstruct(unprepared)
	if unprepared != nil && obstacleOf(unprepared) == nil {
		return unprepared // it passes, and what people see does not change for it
	}
	if err := p.writePlan(ctx); err != nil {
		return err
	}
	if p.target.Invalid == "" {
		p.remember(ctx)
		err = p.pruneConfigMaps(ctx)
	}
	return errors.Join(unprepared, p.unsure, err, p.pruneDefinitions(ctx))
}

// claim puts the finalizer and the operator's version on the Skyhook. It patches metadata only: the spec and with it
// the generation stay the user's.
func (p *pass) claim(ctx context.Context) error {
	s := p.skyhook
	before := s.DeepCopy()
	controllerutil.AddFinalizer(s, v1alpha1.Finalizer)
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationVersion, p.Version)
	if equality.Semantic.DeepEqual(before.ObjectMeta, s.ObjectMeta) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, s, patch); err != nil {
		before.DeepCopyInto(s)
		return p.refused(fmt.Errorf("claim Skyhook %s: %w", s.Name, err), v1alpha1.ReasonClaimRefused, "the Skyhook")
	}
	return nil
}

// prepare writes all that a node needs before it gets a permit.
func (p *pass) prepare(ctx context.Context) error {
	var retained error
	if p.target.Invalid == "" { // an edit meanwhile may fix an uninstall
		retained = p.retain(ctx)
	} else if !p.in.Deleting {
		return nil
	}
	p.in.Unretained = retained != nil
	return p.known.failures.lasting(errors.Join(retained, p.writeConfigMaps(ctx)), v1alpha1.ReasonPassFailed)
}

// obstruct holds all nodes while something lasting is in the way of their preparation. What holds the Skyhook in any
// case counts first. While it is the claim or definitions that are missing no node may start anything with this spec.
func (p *pass) obstruct(err error) {
	o := obstacleOf(err)
	if o == nil {
		return
	}
	if p.in.Hold == nil {
		p.in.Hold, p.in.Obstacle = o.hold(), true
	}
	p.in.Unretained = p.in.Unretained || o.reason == v1alpha1.ReasonClaimRefused
}

// lookAgain has the Skyhook planned again after some time at the latest; 0 for no such time.
func (p *pass) lookAgain(after time.Duration) {
	p.known.pace.rest = soonest(p.known.pace.rest, after)
}

// writePlan decides, and stores and tells what follows. How long it took to decide, and to read, is measured.
func (p *pass) writePlan(ctx context.Context) error {
	pace, begun := &p.known.pace, p.Clock.Now()
	status := rollout.Plan(p.in)
	p.lookAgain(rollout.LookAgain(p.in))
	took := pace.took + p.Clock.Now().Sub(begun)
	metrics.PlanSeconds.Observe(took.Seconds())
	before := p.skyhook.Status.Permits
	if err := p.writeStatus(ctx, status); err != nil {
		return err
	}
	p.publish(before)
	return nil
}

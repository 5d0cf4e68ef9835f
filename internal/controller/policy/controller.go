// Package policy holds the controller that looks at one DeploymentPolicy at a time, and writes into its status what it
// applies to: the Skyhooks that name it, and the nodes in each compartment.
//
// It is the only writer of that status. No decision depends on it: a rollout reads the policy's spec.
package policy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// passInterval is how long changes of Skyhooks and nodes are gathered for one pass over a policy.
const passInterval = time.Second

// Reconciler writes the status of one DeploymentPolicy.
type Reconciler struct {
	state.Shared
}

// Reconcile counts what one policy applies to.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.DeploymentPolicy
	if err := r.Client.Get(ctx, req.NamespacedName, &p); err != nil || p.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	uses, err := r.uses(ctx, p.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	parsed, invalid := r.Policies.Parsed(&p)
	status := rollout.PolicyStatus(&p, parsed, invalid, uses, metav1.NewTime(r.Clock.Now()))
	err = r.write(ctx, &p, status)
	if apierrors.IsConflict(err) {
		// The cache was behind; the change that it missed wakes this policy, at the latest this does.
		return ctrl.Result{RequeueAfter: passInterval}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// uses are the Skyhooks that name a policy, with the nodes that they select. Nothing of the cache is copied or changed.
func (r *Reconciler) uses(ctx context.Context, policy string) ([]rollout.Use, error) {
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Skyhooks: %w", err)
	}
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var uses []rollout.Use
	for i := range skyhooks.Items {
		s := &skyhooks.Items[i]
		if s.Spec.DeploymentPolicy != policy {
			continue
		}
		use, selector := rollout.Use{Skyhook: s.Name}, r.Targets.Of(s).Selector
		for _, n := range nodes {
			if selector.Matches(labels.Set(n.Labels)) {
				use.Nodes = append(use.Nodes, rollout.Node{Name: n.Name, Labels: n.Labels})
			}
		}
		uses = append(uses, use)
	}
	return uses, nil
}

// write stores a status that differs. It is refused if the policy changed since it was read.
func (r *Reconciler) write(ctx context.Context, p *v1alpha1.DeploymentPolicy, status v1alpha1.DeploymentPolicyStatus) error {
	if equality.Semantic.DeepEqual(p.Status, status) {
		return nil
	}
	lock := client.MergeFromWithOptimisticLock{}
	change, err := client.MergeFromWithOptions(statusOf(p, p.Status), lock).Data(statusOf(p, status))
	if err == nil {
		err = r.Client.Status().Patch(ctx, p, client.RawPatch(types.MergePatchType, change))
	}
	if err != nil {
		return fmt.Errorf("write the status of DeploymentPolicy %s: %w", p.Name, err)
	}
	return nil
}

// statusOf is a policy with all that a change of its status depends on.
func statusOf(p *v1alpha1.DeploymentPolicy, status v1alpha1.DeploymentPolicyStatus) *v1alpha1.DeploymentPolicy {
	object := metav1.ObjectMeta{Name: p.Name, ResourceVersion: p.ResourceVersion}
	return &v1alpha1.DeploymentPolicy{ObjectMeta: object, Status: status}
}

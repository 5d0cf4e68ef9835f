package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// policies judges DeploymentPolicies.
type policies struct{ cached, live client.Reader }

// ValidateCreate judges a new policy.
func (v *policies) ValidateCreate(_ context.Context, p *v1alpha1.DeploymentPolicy) (ctrladmission.Warnings, error) {
	return admission.PolicyAdvice(nil, p), refusal(admission.CheckPolicy(p))
}

// ValidateUpdate judges a change of the spec; everything else passes.
func (v *policies) ValidateUpdate(
	_ context.Context, old, p *v1alpha1.DeploymentPolicy,
) (ctrladmission.Warnings, error) {
	if p.DeletionTimestamp != nil || equality.Semantic.DeepEqual(old.Spec, p.Spec) {
		return nil, nil
	}
	return admission.PolicyAdvice(old, p), refusal(admission.CheckPolicy(p))
}

// ValidateDelete refuses while a Skyhook names the policy. It reads live: a policy is often deleted right after the
// Skyhook that named it.
func (v *policies) ValidateDelete(ctx context.Context, p *v1alpha1.DeploymentPolicy) (ctrladmission.Warnings, error) {
	if err := checkStored(ctx, p, "deploymentpolicies", v.cached, v.live); err != nil {
		return nil, err
	}
	var list v1alpha1.SkyhookList
	if err := v.live.List(ctx, &list); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("list Skyhooks: %w", err))
	}
	var users []string
	for i := range list.Items {
		if list.Items[i].Spec.DeploymentPolicy == p.Name {
			users = append(users, list.Items[i].Name)
		}
	}
	if len(users) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("DeploymentPolicy %s is still referenced by %s: %s; remove it from their "+
		"spec.deploymentPolicy, or wait until those that are being deleted are gone, and delete it again",
		p.Name, text.Count(len(users), "Skyhook"), text.Names(users))
}

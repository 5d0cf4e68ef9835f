package state

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Policies keeps parsed DeploymentPolicies, each once per generation. Its zero value is ready for use, by several
// goroutines.
type Policies struct {
	mu sync.Mutex
	// parsed is by name, so that whoever misses a policy can drop it.
	parsed map[string]parsedPolicy
}

type parsedPolicy struct {
	uid        types.UID
	generation int64
	policy     *rollout.Policy
	// invalid tells what is wrong with it; empty when nothing is.
	invalid string
}

// Pace is how a Skyhook's rollout is paced.
type Pace struct {
	// Policy that the Skyhook names; nil when it names none, or when there is a Hold.
	Policy *rollout.Policy
	// Missing says that the policy does not exist.
	Missing bool
	// Hold keeps every node from new work because of the policy; nil when it is fine.
	Hold *situation.Hold
}

// Of reads the policy that a Skyhook names.
func (p *Policies) Of(ctx context.Context, reader client.Reader, s *v1alpha1.Skyhook) (Pace, error) {
	name := s.Spec.DeploymentPolicy
	if name == "" {
		return Pace{}, nil
	}
	var policy v1alpha1.DeploymentPolicy
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &policy)
	if apierrors.IsNotFound(err) {
		p.forget(name)
		return p.Pace(s, nil), nil
	}
	if err != nil {
		return Pace{}, fmt.Errorf("get DeploymentPolicy %s: %w", name, err)
	}
	return p.Pace(s, &policy), nil
}

// Pace is how the policy that a Skyhook names paces it; nil if there is none of that name.
func (p *Policies) Pace(s *v1alpha1.Skyhook, policy *v1alpha1.DeploymentPolicy) Pace {
	switch {
	case s.Spec.DeploymentPolicy == "":
		return Pace{}
	case policy == nil:
		return Pace{Missing: true, Hold: rollout.HoldPolicyMissing(s)}
	}
	parsed := p.parse(policy)
	if parsed.invalid != "" {
		return Pace{Hold: &situation.Hold{
			Status: v1alpha1.StatusBlocked,
			Wait: record.Wait{
				Reason: v1alpha1.ReasonSpecInvalid, Frees: record.FreesAdministrator,
				Message: fmt.Sprintf("DeploymentPolicy %s: %s", policy.Name, parsed.invalid),
			},
		}}
	}
	return Pace{Policy: parsed.policy}
}

// Parsed returns a policy as rollouts read it, or else what is wrong with it.
func (p *Policies) Parsed(policy *v1alpha1.DeploymentPolicy) (parsed *rollout.Policy, invalid string) {
	known := p.parse(policy)
	return known.policy, known.invalid
}

func (p *Policies) parse(policy *v1alpha1.DeploymentPolicy) parsedPolicy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.parsed[policy.Name]; ok && known.uid == policy.UID && known.generation == policy.Generation {
		return known
	}
	if p.parsed == nil {
		p.parsed = map[string]parsedPolicy{}
	}
	now := parsedPolicy{uid: policy.UID, generation: policy.Generation}
	var err error
	if now.policy, err = rollout.PreparePolicy(policy); err != nil {
		now.invalid = err.Error()
	}
	p.parsed[policy.Name] = now
	return now
}

// Changed returns the Skyhooks that name a policy which comes, changes or goes. What was parsed of it is of no use any
// more.
func (p *Policies) Changed(ctx context.Context, reader client.Reader, policy client.Object) []v1alpha1.Skyhook {
	p.forget(policy.GetName())
	var all v1alpha1.SkyhookList
	if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks of a policy", "policy", policy.GetName())
	}
	return slices.DeleteFunc(all.Items, func(s v1alpha1.Skyhook) bool {
		return s.Spec.DeploymentPolicy != policy.GetName()
	})
}

func (p *Policies) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parsed, name)
}

package rollout

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxResume is how many bytes of the resume annotation count.
const maxResume = 128

// reset is what a pass does to all batch states before it looks at the batches.
type reset struct {
	// anew starts from the first batch: the packages are others now.
	anew bool
	// unstop continues what is stopped: the spec changed, or the user asked for it.
	unstop bool
	// completed leaves the first batch for the next rollout.
	completed bool
}

// resetOf decides it; policy is nil when it is missing.
func resetOf(in Input, policy *Policy) reset {
	was := &in.Skyhook.Status
	allowed := true
	if policy != nil && policy.reset != nil {
		allowed = *policy.reset
	}
	if o := in.Skyhook.Spec.DeploymentPolicyOptions; o != nil && o.ResetBatchStateOnCompletion != nil {
		allowed = *o.ResetBatchStateOnCompletion
	}
	return reset{
		anew:      allowed && was.PackageList != "" && was.PackageList != packageList(in.Skyhook),
		unstop:    edited(in.Skyhook) || resumed(in.Skyhook) != was.Resumed,
		completed: allowed && in.Hold == nil && !in.Deleting && AllComplete(in.Nodes),
	}
}

// edited reports whether the spec changed since the last plan. Other operators, which know no condition Reconciling, say
// which generation they saw only when all is complete.
func edited(s *v1alpha1.Skyhook) bool {
	return s.Status.ObservedGeneration < s.Generation &&
		meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReconciling) != nil
}

// apply returns the state to continue with.
func (r reset) apply(before *v1alpha1.BatchState) v1alpha1.BatchState {
	if before == nil || r.anew {
		return v1alpha1.BatchState{CurrentBatch: 1}
	}
	b := *before
	b.CurrentBatch = max(1, b.CurrentBatch)
	if r.unstop {
		b.ShouldStop, b.ConsecutiveFailures = false, 0
	}
	return b
}

// resumed is the value of the resume annotation to remember: the last one that it had.
func resumed(s *v1alpha1.Skyhook) string {
	value := s.Annotations[v1alpha1.AnnotationResume]
	if value == "" {
		return s.Status.Resumed
	}
	return text.Prefix(value, maxResume)
}

// newerThanDone reports whether the spec changed since the node finished with its last permit.
func (f *fleet) newerThanDone(n *Node) bool {
	last, ok := v1alpha1.ParsePermitToken(n.FinishedPermit)
	return !ok || last.Generation < f.Skyhook.Generation
}

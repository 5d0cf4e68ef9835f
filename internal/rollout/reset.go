package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxResume is how many bytes of the resume annotation count.
const maxResume = 128

// reset is what a pass does to all batch states before it looks at the batches.
type reset struct {
	// anew starts from the first batch for another content, and packages says that the packages are others than those of
	// the status, which is all that an earlier version knew.
	anew, packages bool
	// content is what rolls out, and generation that of the spec which it began with.
	content    string
	generation int64
	// unstop continues what is stopped: the spec changed, or the user asked for it.
	unstop bool
	// completed leaves the first batch for the next rollout.
	completed bool
}

// reset decides it; policy is nil when it is missing.
func (f *fleet) reset(policy *Policy) reset {
	in, was := &f.Input, &f.Skyhook.Status
	allowed := true
	if policy != nil && policy.reset != nil {
		allowed = *policy.reset
	}
	if o := in.Skyhook.Spec.DeploymentPolicyOptions; o != nil && o.ResetBatchStateOnCompletion != nil {
		allowed = *o.ResetBatchStateOnCompletion
	}
	packages := was.PackageList != "" && was.PackageList != packageList(in.Skyhook)
	generation := in.Skyhook.Generation
	if !packages && (was.Content == "" || sameContent(was.Content, f.content)) {
		generation = beganWith(in.Skyhook, f.content)
	}
	return reset{
		anew: allowed, packages: packages, content: f.content, generation: generation,
		unstop:    edited(in.Skyhook) && !in.Unretained || resumed(in.Skyhook) != was.Resumed,
		completed: allowed && in.Hold == nil && !in.Deleting && len(in.Nodes) > 0 && AllComplete(in.Nodes),
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
	b := v1alpha1.BatchState{CurrentBatch: 1}
	switch {
	case before == nil:
	case r.continues(before):
		b = *before.DeepCopy()
		if b.Content == "" {
			b.Before = b.ConsecutiveFailures
		}
		b.Content = r.content
	case !r.anew:
		b.CurrentBatch, b.LastBatchSize, b.LastBatchFailed = before.CurrentBatch, before.LastBatchSize, before.LastBatchFailed
	}
	if b.Content == "" {
		b.Content, b.Generation = r.content, r.generation
	}
	b.CurrentBatch = max(1, b.CurrentBatch)
	r.release(&b)
	return b
}

// keep returns the state to keep while nobody knows the policy. Other content begins with a policy: only then is it known
// how many nodes of which compartment have it.
func (r reset) keep(before *v1alpha1.BatchState) v1alpha1.BatchState {
	if before.Content == "" || r.continues(before) {
		return r.apply(before)
	}
	b := *before.DeepCopy()
	r.release(&b)
	return b
}

// release continues what is stopped.
func (r reset) release(b *v1alpha1.BatchState) {
	if r.unstop {
		b.ShouldStop, b.ConsecutiveFailures, b.Before, b.Closed, b.Lost, b.Again = false, 0, 0, nil, nil, nil
	}
}

// continues reports whether what batches rolled out rolls out now. An earlier version did not note what it was: an upgrade
// begins no batch and ends no stop.
func (r reset) continues(before *v1alpha1.BatchState) bool {
	if before.Content == "" {
		return !r.packages
	}
	return sameContent(before.Content, r.content)
}

// contentVersion names how a content is hashed: one that was hashed otherwise is taken for the same.
const contentVersion = "1:"

// sameContent reports whether two are the same, as far as they can be compared.
func sameContent(a, b string) bool {
	return a == b || !strings.HasPrefix(a, contentVersion)
}

// contentOf names what rolls out: what the pods of the packages are made of, and what is to be removed. A change of
// anything else makes no node begin anew.
func contentOf(s *v1alpha1.Skyhook) string {
	type part struct {
		Name, Version, Image, ContainerSHA string
		Env                                []corev1.EnvVar
		ConfigMap                          map[string]string
		Removed                            bool
	}
	parts := make([]part, 0, len(s.Spec.Packages))
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		p := s.Spec.Packages[name]
		parts = append(parts, part{name, p.Version, p.Image, p.ContainerSHA, p.Env, p.ConfigMap, p.Uninstall.Requested()})
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return contentVersion // plain values always can be encoded
	}
	sum := sha256.Sum256(raw)
	return contentVersion + hex.EncodeToString(sum[:8])
}

// beganWith is the generation of the spec that the content began with: the earliest of the compartments which have
// it. Permits that were given before anybody noted a content are of this one.
func beganWith(s *v1alpha1.Skyhook, content string) int64 {
	known, began := false, int64(-1)
	for name := range s.Status.CompartmentStatuses {
		b := s.Status.CompartmentStatuses[name].BatchState
		switch {
		case b == nil || b.Content == "":
		case !sameContent(b.Content, content):
			known = true
		case began < 0 || b.Generation < began:
			began = b.Generation
		}
	}
	switch {
	case began >= 0:
		return began
	case !known:
		return 0
	}
	return s.Generation
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

package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sealedSince is when the records of the Skyhook began to be sealed: with its creation if workloads wait for it from
// the beginning, else after all that is there was made, by whichever clock. Once begun it never ends, so that a seal
// that is missing always means something.
func sealedSince(in Input) *metav1.Time {
	s := in.Skyhook
	switch {
	case s.Status.SealedSince != nil || !s.Spec.RuntimeRequired:
		return s.Status.SealedSince
	case s.Status.Status == "": // nobody planned it yet
		return s.CreationTimestamp.DeepCopy()
	}
	last := in.Now
	if s.CreationTimestamp.After(last) {
		last = s.CreationTimestamp.Time
	}
	for i := range in.Nodes {
		if in.Nodes[i].Created.After(last) {
			last = in.Nodes[i].Created
		}
	}
	return &metav1.Time{Time: last.Truncate(time.Second).Add(time.Second)}
}

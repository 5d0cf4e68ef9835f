package rollout_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestSealedSince: sealing begins once, and never with a node that was there before and counts as younger.
func TestSealedSince(t *testing.T) {
	earlier, created := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(-time.Minute))
	for _, c := range []struct {
		name     string
		required bool
		status   v1alpha1.SkyhookStatus
		// clock is how much the operator's is ahead, and node how much later than now one was created.
		clock, node time.Duration
		want        *metav1.Time
	}{
		{name: "workloads do not wait for it"},
		{name: "from the beginning", required: true, want: &created},
		{name: "it is planned already", required: true, status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting}, want: new(metav1.NewTime(now.Add(time.Second)))},
		{
			name: "a node joined in this second", required: true, status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting},
			clock: 300 * time.Millisecond, want: new(metav1.NewTime(now.Add(time.Second))),
		},
		{
			name: "a node is younger than the operator's clock says", required: true, status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting},
			node: time.Minute, want: new(metav1.NewTime(now.Add(time.Minute + time.Second))),
		},
		{
			name: "the Skyhook is younger than the operator's clock says", required: true, status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting},
			clock: -time.Hour, node: -time.Hour, want: new(metav1.NewTime(created.Add(time.Second))),
		},
		{name: "it began", required: true, status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting, SealedSince: &earlier}, want: &earlier},
		{name: "it began, and workloads wait no more", status: v1alpha1.SkyhookStatus{Status: v1alpha1.StatusWaiting, SealedSince: &earlier}, want: &earlier},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(1)
			s.CreationTimestamp, s.Spec.RuntimeRequired, s.Status = created, c.required, c.status
			in := rollout.Input{Skyhook: s, Nodes: nodes("n1; n2"), Now: now.Add(c.clock)}
			in.Nodes[0].Created, in.Nodes[1].Created = now.Add(c.node), now.Add(-time.Hour)
			if got := rollout.Plan(in).SealedSince; !got.Equal(c.want) {
				t.Errorf("sealed since %v, want %v", got, c.want)
			}
		})
	}
}

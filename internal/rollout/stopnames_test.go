package rollout_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// The message of a stop while its member is retried, without a permit, and of one that moved.
func TestStopNames(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in,
		"n1; n2; n3; n4", "n1 erroring; n2; n3; n4", "n1 erroring done=4/0; n2; n3; n4", "n1 in_progress done=4/0; n2; n3; n4",
	)
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRolloutStopped)
	if c == nil || !strings.Contains(c.Message, "n1") {
		t.Errorf("%+v", c)
	}
}

// The node is away for the reboot of another Skyhook, which it never comes back from.
func TestOthersReboot(t *testing.T) {
	n := situation.Situation{
		Facts:         situation.Facts{Begun: true, Unavailable: true},
		NotReadySince: now.Add(-24 * time.Hour),
		Interrupt:     &record.Interrupt{Skyhook: "other", Type: v1alpha1.InterruptReboot, Since: metav1.NewTime(now.Add(-24 * time.Hour))},
		Hold:          rollout.HoldInterrupted("other"),
	}
	if v, after := n.Judge(now); v != situation.Bad && after == 0 {
		t.Errorf("verdict %d, to be looked at again in %s: the batch never ends", v, after)
	}
}

// TestSizeOfMembers: the size of a status with as many permits as it may have, and all in one batch.
func TestSizeOfMembers(t *testing.T) {
	for _, c := range []int{45, 63, 70, 72, 74, 76, 80} {
		s := skyhook(0)
		s.Generation, s.Status.FirstRound = 100, 10
		status := rollout.Plan(rollout.Input{Skyhook: s, Policy: policy(t, "default: {budget: {percent: 100}, strategy: {fixed: {initialBatch: 5000}}}"), Nodes: named(5000, c), Now: now})
		for i := range status.Permits {
			status.Permits[i].Revoked = true
		}
		if size(t, status) >= sizeLimit {
			t.Errorf("names of %d: too large", c)
		}
	}
}

// All nodes are gone for a moment, as in an edit of labels or a scale to zero, with a stop.
func TestNoNodesEndsStop(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in, "n1; n2; n3; n4", "n1 erroring; n2; n3; n4", "n1 erroring done=4/0; n2; n3; n4", "", "n5; n6")
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("the stop is gone")
	}
}

// Nodes of a stopped compartment. The node that stopped it moves; the stop has to name it.
func TestMovedBadNotNamed(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, withCompartment("gpu"))}
	planAll(&in, "n1; n2; n3", "n1 erroring cordoned; n2; n3", "n1 erroring cordoned tier=gpu; n2; n3")
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRolloutStopped)
	if c == nil || !strings.Contains(c.Message, "n1") {
		t.Errorf("%+v", c)
	}
}

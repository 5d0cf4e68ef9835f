package state_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var runtimeTaint = corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}

// believed reads a scene of a record, and says what may be gone by. What there may be beside a Skyhook that workloads
// wait for, of 10:00, and a node of 12:00:
//
//	since=11    records are sealed since 11:00
//	optional    workloads do not wait for it
//	deleted     it is being deleted
//	auto        another Skyhook has new nodes tainted, and is sealed since 11:00
//	tainted     the node has the runtime taint
//	sealed      the record is sealed
//	forged      the record was changed after that
//	empty       the record names no packages
//	malformed   the record cannot be read
func believed(t *testing.T, scene string) (reason string, vouches bool) {
	t.Helper()
	at := func(hour int) *metav1.Time {
		return new(metav1.NewTime(time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC)))
	}
	s, other, n := skyhook("self", 1, nil), skyhook("other", 2, nil), node("n", map[string]string{}, map[string]v1alpha1.State{"self": v1alpha1.StateComplete})
	s.CreationTimestamp, n.CreationTimestamp, s.Spec.RuntimeRequired = *at(10), *at(12), true
	for word := range strings.FieldsSeq(scene) {
		switch word {
		case "since=10", "since=11", "since=13":
			s.Status.SealedSince = at(map[string]int{"10": 10, "11": 11, "13": 13}[strings.TrimPrefix(word, "since=")])
		case "optional":
			s.Spec.RuntimeRequired = false
		case "deleted":
			s.DeletionTimestamp = at(14)
		case "auto":
			other.Spec.RuntimeRequired, other.Spec.AutoTaintNewNodes, other.Status.SealedSince = true, true, at(11)
		case "tainted":
			n.Spec.Taints = []corev1.Taint{runtimeTaint}
		case "sealed":
			var p record.Patch
			state.SealOf(s, n).Apply(&p, n.Annotations, n.Labels)
			for key, value := range p.Labels {
				n.Labels[key] = *value
			}
		case "forged":
			n.Annotations["skyhook.nvidia.com/nodeState_self"] = strings.Replace(n.Annotations["skyhook.nvidia.com/nodeState_self"], "config", "apply", 1)
		case "empty":
			n.Annotations["skyhook.nvidia.com/nodeState_self"] = "{}"
		case "malformed":
			n.Annotations["skyhook.nvidia.com/nodeState_self"] = "{"
		default:
			t.Fatalf("what is %q?", word)
		}
	}
	o := workload.Options{Namespace: "skyhook", RuntimeTaint: runtimeTaint}
	snapshot, err := new(state.Index).Snapshot(t.Context(), fake.NewClientBuilder().Build(), o, []*v1alpha1.Skyhook{s, other})
	if err != nil {
		t.Fatal(err)
	}
	r, hold := snapshot.Record(s, n, &state.Records{})
	if hold != nil && (!r.Unreadable || len(r.Packages) > 0 || hold.Frees != record.FreesAdministrator || !strings.Contains(hold.Message, "nodeState_self")) {
		t.Errorf("held by %+v with the record %+v", hold, r)
	}
	return reasonOf(hold), snapshot.Vouches(s, n, r)
}

// TestRecord: where workloads are kept off, only what the operator wrote lets them in.
func TestRecord(t *testing.T) {
	const unsealed = v1alpha1.ReasonNodeStateUnsealed
	for _, c := range []struct {
		scene, reason string
		vouches       bool
	}{
		{"since=11 tainted sealed", "", true},
		{"since=11 tainted sealed forged", unsealed, false},
		{"since=11 tainted", unsealed, false},
		{"since=11 tainted empty", "", true},
		{"since=11 tainted malformed", v1alpha1.ReasonNodeStateMalformed, false},

		// nothing depends on it
		{"since=11", "", true},
		{"since=11 sealed forged", "", true},
		{"since=11 optional tainted sealed forged", "", false},
		{"since=11 deleted tainted sealed forged", "", false},

		// from before records were sealed
		{"tainted", "", true},
		{"since=13 tainted", "", true},
		{"since=13 tainted sealed forged", unsealed, false},
		{"since=10 tainted", unsealed, false}, // by its creation: there is no before

		// a new node is as good as tainted, whoever has it tainted; one that is sealed is known
		{"since=11 auto", unsealed, false},
		{"since=11 auto empty", "", true},
		{"since=11 auto sealed", "", true},
		{"since=11 auto sealed forged", "", true},
	} {
		t.Run(c.scene, func(t *testing.T) {
			reason, vouches := believed(t, c.scene)
			if reason != c.reason || reason == "" && vouches != c.vouches {
				t.Errorf("held by %q, vouched for: %t", reason, vouches)
			}
		})
	}
}

package state_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// setting is a Skyhook on a node where everything holds it; what is fixed goes.
type setting struct {
	self, earlier *v1alpha1.Skyhook
	node          *corev1.Node
	around        state.Surroundings
	// stopped says that somebody stopped all Skyhooks.
	stopped bool
}

// everything holds the Skyhook back, in each way that there is.
func everything() *setting {
	s := &setting{self: skyhook("self", 100, nil), earlier: skyhook("earlier", 1, nil), node: node("n", nil, nil), stopped: true}
	s.self.Annotations = map[string]string{v1alpha1.AnnotationDisable: "true", v1alpha1.AnnotationPause: "true"}
	s.self.Spec.InterruptionBudget = v1alpha1.InterruptionBudget{Count: new(1), Percent: new(1)}
	s.node.Annotations["skyhook.nvidia.com/nodeState_self"] = "{"
	s.node.Annotations["nodewright.nvidia.com/nodeState_any"] = "{}"
	s.node.Labels = map[string]string{v1alpha1.LabelIgnore: "true"}
	s.node.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	s.around.Interrupting = "other"
	s.around.Pace.Hold = &situation.Hold{Wait: record.Wait{Reason: v1alpha1.ReasonDeploymentPolicyNotFound}}
	return s
}

// steps take one hold after the other away; each row names the one that is seen then.
var steps = []struct {
	fix  func(*setting)
	want string
}{
	{func(*setting) {}, v1alpha1.ReasonNodeStateMalformed},
	{func(s *setting) { delete(s.node.Annotations, "skyhook.nvidia.com/nodeState_self") }, v1alpha1.ReasonDisabled},
	{func(s *setting) { delete(s.self.Annotations, v1alpha1.AnnotationDisable) }, v1alpha1.ReasonPaused},
	{func(s *setting) { delete(s.self.Annotations, v1alpha1.AnnotationPause) }, v1alpha1.ReasonAllStopped},
	{func(s *setting) { s.stopped = false }, v1alpha1.ReasonSpecInvalid},
	{func(s *setting) { s.self.Spec.InterruptionBudget.Percent, s.self.Generation = nil, 2 }, v1alpha1.ReasonDeploymentPolicyNotFound},
	{func(s *setting) { s.around.Pace.Hold = nil }, v1alpha1.ReasonNodeIgnored},
	{func(s *setting) { s.node.Labels = nil }, v1alpha1.ReasonNodeWrightRecords},
	{func(s *setting) { delete(s.node.Annotations, "nodewright.nvidia.com/nodeState_any") }, v1alpha1.ReasonTaintNotTolerable},
	{func(s *setting) { s.node.Spec.Taints = nil }, v1alpha1.ReasonWaitingForSkyhook},
	{func(s *setting) {
		s.node.Annotations["skyhook.nvidia.com/nodeState_earlier"] = node("", nil, map[string]v1alpha1.State{"x": v1alpha1.StateComplete}).Annotations["skyhook.nvidia.com/nodeState_x"]
	}, v1alpha1.ReasonWaitingForInterrupt},
	{func(s *setting) { s.around.Interrupting = "self" }, ""},
}

func (s *setting) snapshot(t *testing.T) state.Snapshot {
	t.Helper()
	cluster := fake.NewClientBuilder()
	if s.stopped {
		cluster.WithObjects(stop("skyhook", "1"))
	}
	snapshot, err := new(state.Index).Snapshot(t.Context(), cluster.Build(), workload.Options{Namespace: "skyhook"},
		[]*v1alpha1.Skyhook{s.earlier, s.self})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func (s *setting) hold(t *testing.T) *situation.Hold {
	t.Helper()
	snapshot := s.snapshot(t)
	at := snapshot.At(s.node, &state.Records{})
	return at.Hold(s.self, s.around)
}

func reasonOf(h *situation.Hold) string {
	if h == nil {
		return ""
	}
	return h.Reason
}

// TestHoldInOrder: the first reason counts, in the order in which people fix one thing after the other.
func TestHoldInOrder(t *testing.T) {
	s := everything()
	for i, step := range steps {
		step.fix(s)
		snapshot := s.snapshot(t)
		at := snapshot.At(s.node, &state.Records{})
		if got := reasonOf(at.Hold(s.self, s.around)); got != step.want {
			t.Errorf("step %d: held by %q, want %q", i, got, step.want)
		}
		// The parts of it say the same: first the record, then what is about all nodes.
		_, unusable := at.View(s.self)
		all, here := snapshot.HoldAll(s.self, s.around.Pace), at.HoldHere(s.self, s.around)
		want := reasonOf(cmp.Or(unusable, all, here))
		if want != step.want {
			t.Errorf("step %d: the parts say %q, want %q", i, want, step.want)
		}
	}
}

// TestHoldOfADeletion: it waits neither for its spec nor for what comes before it.
func TestHoldOfADeletion(t *testing.T) {
	s := everything()
	s.self.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	var got []string
	for _, step := range steps {
		step.fix(s)
		if reason := reasonOf(s.hold(t)); len(got) == 0 || got[len(got)-1] != reason {
			got = append(got, reason)
		}
	}
	const want = "NodeStateMalformed Disabled Paused AllStopped NodeIgnored NodeWrightRecords TaintNotTolerable WaitingForInterrupt "
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestHoldOfACompleteNode: it waits for no other Skyhook.
func TestHoldOfACompleteNode(t *testing.T) {
	s := everything()
	for _, step := range steps[:10] { // up to the earlier Skyhook
		step.fix(s)
	}
	s.around.Complete = true
	if got := s.hold(t); got != nil {
		t.Errorf("held by %+v", got)
	}
}

// TestHoldsOfTwoSkyhooks: an earlier Skyhook gets work on a node that a later one interrupts. One of them waits for the
// other, and the other one works.
func TestHoldsOfTwoSkyhooks(t *testing.T) {
	for _, c := range []struct {
		name, interrupting     string
		earlier, later         string
		earlierSays, laterSays string
	}{
		{"nobody interrupts the node", "", "", "waiting WaitingForSkyhook", "", "Skyhook earlier has priority 1 and is not complete on this node; see `kubectl describe skyhook earlier`"},
		{"the earlier one does", "earlier", "", "waiting WaitingForSkyhook", "", "Skyhook earlier has priority 1 and is not complete on this node; see `kubectl describe skyhook earlier`"},
		{
			"the later one does", "self", "waiting WaitingForInterrupt", "in_progress WaitingForInterrupt", "an interrupt of Skyhook self is in flight on the node, and nothing else starts before its end",
			"an interrupt of this Skyhook is in flight on the node; after it: " +
				"Skyhook earlier has priority 1 and is not complete on this node; see `kubectl describe skyhook earlier`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &setting{self: skyhook("self", 100, nil), earlier: skyhook("earlier", 1, nil), node: node("n", nil, nil)}
			s.around.Interrupting = c.interrupting
			snapshot := s.snapshot(t)
			at := snapshot.At(s.node, &state.Records{})
			for _, o := range []struct {
				of         *v1alpha1.Skyhook
				want, says string
			}{{s.earlier, c.earlier, c.earlierSays}, {s.self, c.later, c.laterSays}} {
				got, says := "", ""
				if h := at.Hold(o.of, s.around); h != nil {
					got, says = string(h.Status)+" "+h.Reason, h.Message
				}
				if got != o.want || says != o.says {
					t.Errorf("%s: %s: %s; want %s: %s", o.of.Name, got, says, o.want, o.says)
				}
			}
		})
	}
}

// TestHoldUnderTheRuntimeTaint: the operator takes it off by itself, unless nobody would have it do so.
func TestHoldUnderTheRuntimeTaint(t *testing.T) {
	runtime := corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	for _, c := range []struct {
		name  string
		edit  func(self, other *v1alpha1.Skyhook)
		frees record.Frees
	}{
		{"another requires it", func(*v1alpha1.Skyhook, *v1alpha1.Skyhook) {}, record.FreesOther},
		{"nobody does", func(_, o *v1alpha1.Skyhook) { o.Spec.RuntimeRequired = false }, record.FreesAdministrator},
		{"nobody does here", func(_, o *v1alpha1.Skyhook) { o.Spec.NodeSelectors.MatchLabels = map[string]string{"a": "b"} }, record.FreesAdministrator},
		{"it is paused", func(_, o *v1alpha1.Skyhook) { o.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} }, record.FreesAdministrator},
		{"it is deleted", func(_, o *v1alpha1.Skyhook) { o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, record.FreesAdministrator},
		{"it waits for this one", func(s, _ *v1alpha1.Skyhook) { s.Spec.Sequencing = v1alpha1.SequencingAll }, record.FreesAdministrator},
		{"this one comes later", func(s, _ *v1alpha1.Skyhook) { s.Spec.Sequencing, s.Spec.Priority = v1alpha1.SequencingAll, 300 }, record.FreesOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			self, other := skyhook("self", 100, nil), skyhook("other", 200, nil)
			other.Spec.RuntimeRequired = true
			c.edit(self, other)
			n := node("n", nil, nil)
			n.Spec.Taints = []corev1.Taint{runtime}
			var around state.Surroundings
			snapshot, err := new(state.Index).Snapshot(t.Context(), fake.NewClientBuilder().Build(), workload.Options{Namespace: "skyhook", RuntimeTaint: runtime},
				[]*v1alpha1.Skyhook{self, other})
			if err != nil {
				t.Fatal(err)
			}
			at := snapshot.At(n, &state.Records{})
			if h := at.Hold(self, around); h == nil || h.Reason != v1alpha1.ReasonTaintNotTolerable || h.Frees != c.frees {
				t.Errorf("held by %+v, want it to be freed by %s", h, c.frees)
			}
		})
	}
}

func TestInterrupting(t *testing.T) {
	const interrupts = `{"a|1.0.0":{"name":"a","version":"1.0.0","image":"x/a","stage":"interrupt","state":"in_progress"}}`
	for _, c := range []struct {
		name        string
		annotations map[string]string
		selects     bool
		want        string
	}{
		{"nobody", nil, true, ""},
		{"as its annotation says", map[string]string{v1alpha1.AnnotationInterrupt: `{"skyhook":"x","type":"reboot"}`}, true, "x"},
		{"whatever records say", map[string]string{v1alpha1.AnnotationInterrupt: `{"skyhook":"x","type":"reboot"}`, "skyhook.nvidia.com/nodeState_earlier": interrupts}, true, "x"},
		{"as the records say, of an earlier version", map[string]string{"skyhook.nvidia.com/nodeState_earlier": interrupts}, true, "earlier"},
		{"an annotation that cannot be read", map[string]string{v1alpha1.AnnotationInterrupt: "{", "skyhook.nvidia.com/nodeState_earlier": interrupts}, true, "earlier"},
		{"what a record says of a node that is no longer selected is over", map[string]string{"skyhook.nvidia.com/nodeState_earlier": interrupts}, false, ""},
		{"nor what it says of a Skyhook that is gone", map[string]string{"skyhook.nvidia.com/nodeState_gone": interrupts}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &setting{self: skyhook("self", 100, nil), earlier: skyhook("earlier", 1, nil), node: node("n", nil, nil)}
			if !c.selects {
				s.earlier.Spec.NodeSelectors.MatchLabels = map[string]string{"a": "b"}
			}
			s.node.Annotations = c.annotations
			snapshot := s.snapshot(t)
			got := ""
			at := snapshot.At(s.node, &state.Records{})
			if i := at.InFlight(); i != nil {
				got = i.Skyhook
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestHeldByImageRules: what the webhook refuses is held where nobody asked it; a deletion is not, but its pods wait.
func TestHeldByImageRules(t *testing.T) {
	index := &state.Index{Images: admission.ImageRules{RequireDigest: true, Registries: []string{"ghcr.io/org"}}}
	s := skyhook("self", 1, nil)
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "evil.io/a"}
	snapshot, err := index.Snapshot(t.Context(), fake.NewFakeClient(), workload.Options{}, []*v1alpha1.Skyhook{s})
	if err != nil {
		t.Fatal(err)
	}
	h := snapshot.HoldAll(s, state.Pace{})
	if h == nil || h.Reason != v1alpha1.ReasonSpecInvalid || !strings.Contains(h.Message, "spec.packages.a.image") || !strings.Contains(h.Message, "spec.packages.a.containerSHA") {
		t.Errorf("held by %+v", h)
	}
	s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	pkg := snapshot.Wanted(s, "n").Packages["a"]
	if snapshot.HoldAll(s, state.Pace{}) != nil || !strings.Contains(pkg.Refused, "ghcr.io/org") || !strings.Contains(pkg.Undigested, "containerSHA") {
		t.Errorf("package %+v", pkg)
	}
}

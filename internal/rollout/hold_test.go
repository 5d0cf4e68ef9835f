package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// checkHold compares a hold with "reason status", or "reason status release"; empty for none.
func checkHold(t *testing.T, got *situation.Hold, want, inMessage string) {
	t.Helper()
	text := ""
	if got != nil {
		text = got.Reason + " " + string(got.Status)
		if got.ReturnsPermit {
			text += " release"
		}
		if !strings.Contains(got.Message, inMessage) {
			t.Errorf("message %q does not name %q", got.Message, inMessage)
		}
	}
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestHoldAll(t *testing.T) {
	for _, c := range []struct {
		name        string
		annotations map[string]string
		invalid     string
		stop        *rollout.Stop
		want        string
		message     string
	}{
		{name: "nothing"},
		{
			name: "all are stopped", stop: &rollout.Stop{Since: time.Unix(0, 0), By: "jo", Reason: "INC-7"}, want: "AllStopped paused",
			message: "nothing new starts because all Skyhooks have been stopped since 1970-01-01T00:00:00Z by jo (INC-7); continue with `kubectl skyhook resume --all`",
		},
		{name: "nobody knows by whom", stop: &rollout.Stop{}, want: "AllStopped paused", message: "stopped since 0001-01-01T00:00:00Z; continue"},
		{
			name: "people write much", stop: &rollout.Stop{By: strings.Repeat("x", 4000), Reason: strings.Repeat("y", 4000)},
			want: "AllStopped paused", message: "; continue with `kubectl skyhook resume --all`",
		},
		{name: "paused, and all are stopped", annotations: map[string]string{v1alpha1.AnnotationPause: "true"}, stop: &rollout.Stop{}, want: "Paused paused"},
		{name: "disabled, and all are stopped", annotations: map[string]string{v1alpha1.AnnotationDisable: "true"}, stop: &rollout.Stop{}, want: "Disabled disabled release"},
		{name: "stopped before invalid", stop: &rollout.Stop{}, invalid: "x", want: "AllStopped paused"},
		{name: "paused", annotations: map[string]string{v1alpha1.AnnotationPause: "true"}, want: "Paused paused", message: "skyhook.nvidia.com/pause"},
		{name: "every spelling of true pauses", annotations: map[string]string{v1alpha1.AnnotationPause: "True"}, want: "Paused paused"},
		{name: "what is no boolean does nothing", annotations: map[string]string{v1alpha1.AnnotationPause: "yes"}},
		{
			name: "disabled", annotations: map[string]string{v1alpha1.AnnotationDisable: "true"},
			want: "Disabled disabled release", message: "skyhook.nvidia.com/disable",
		},
		{name: "what is no boolean does not disable", annotations: map[string]string{v1alpha1.AnnotationDisable: "yes"}},
		{
			name: "disabled before paused", annotations: map[string]string{v1alpha1.AnnotationDisable: "true", v1alpha1.AnnotationPause: "true"},
			want: "Disabled disabled release",
		},
		{name: "invalid", invalid: "spec.serial: no", want: "SpecInvalid blocked", message: "spec.serial: no"},
		{name: "paused before invalid", annotations: map[string]string{v1alpha1.AnnotationPause: "true"}, invalid: "x", want: "Paused paused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
			checkHold(t, rollout.HoldAll(s, c.invalid, c.stop), c.want, c.message)
			if h := rollout.HoldAll(s, c.invalid, c.stop); h != nil && len(h.Message) > 600 {
				t.Errorf("a message of %d bytes", len(h.Message))
			}
		})
	}
}

func TestHoldNode(t *testing.T) {
	const (
		taint   = "TaintNotTolerable blocked release"
		ignored = "NodeIgnored blocked release"
	)
	noSchedule := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	with := func(effect corev1.TaintEffect) corev1.Taint { x := noSchedule; x.Effect = effect; return x }
	for _, c := range []struct {
		name        string
		labels      map[string]string
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		defaults    []corev1.Toleration
		want        string
		message     string
	}{
		{name: "nothing"},
		{name: "ignored", labels: map[string]string{v1alpha1.LabelIgnore: "true"}, want: ignored, message: v1alpha1.LabelIgnore},
		{name: "only true ignores", labels: map[string]string{v1alpha1.LabelIgnore: "false"}},
		{name: "ignored before tainted", labels: map[string]string{v1alpha1.LabelIgnore: "true"}, taints: []corev1.Taint{noSchedule}, want: ignored},

		{name: "NoSchedule", taints: []corev1.Taint{noSchedule}, want: taint, message: "team=a:NoSchedule"},
		{name: "NoExecute", taints: []corev1.Taint{with(corev1.TaintEffectNoExecute)}, want: taint, message: "team=a:NoExecute"},
		{name: "PreferNoSchedule is only a wish", taints: []corev1.Taint{with(corev1.TaintEffectPreferNoSchedule)}},
		{name: "cordoned", taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}},
		{name: "not ready", taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}},
		{name: "unreachable", taints: []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}},
		{name: "memory pressure", taints: []corev1.Taint{{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule}}},
		{
			name: "out of service is meant", taints: []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}},
			want: taint, message: corev1.TaintNodeOutOfService,
		},

		{name: "Equal", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a"}}},
		{name: "no operator means Equal", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "team", Value: "a"}}},
		{name: "another value", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "team", Value: "b"}}, want: taint},
		{name: "another key", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "teams", Value: "a"}}, want: taint},
		{name: "Exists", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}},
		{name: "Exists of another key", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}, want: taint},
		{name: "Exists without key tolerates all", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		{name: "Equal without key tolerates nothing", taints: []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}, tolerations: []corev1.Toleration{{}}, want: taint},
		{name: "an unknown operator tolerates nothing", taints: []corev1.Taint{noSchedule}, tolerations: []corev1.Toleration{{Key: "team", Operator: "In", Value: "a"}}, want: taint},
		{
			name: "the effect counts", taints: []corev1.Taint{noSchedule},
			tolerations: []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}}, want: taint,
		},
		{
			name: "the same effect", taints: []corev1.Taint{noSchedule},
			tolerations: []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}},
		},
		{
			name: "all taints count", taints: []corev1.Taint{noSchedule, {Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
			tolerations: []corev1.Toleration{{Key: "team", Value: "a"}}, want: taint, message: "gpu:NoSchedule",
		},
		{
			name: "tolerated by all Skyhooks", taints: []corev1.Taint{noSchedule}, defaults: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
		},
		{
			name: "one by all Skyhooks, one by this one", taints: []corev1.Taint{noSchedule, {Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
			tolerations: []corev1.Toleration{{Key: "team", Value: "a"}}, defaults: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		},
		{
			name: "another by all Skyhooks", taints: []corev1.Taint{noSchedule}, defaults: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}, want: taint,
		},
		{
			name: "each taint may have a toleration of its own", taints: []corev1.Taint{noSchedule, {Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
			tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}, {Key: "team", Value: "a"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{AdditionalTolerations: c.tolerations}}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}, Spec: corev1.NodeSpec{Taints: c.taints}}
			checkHold(t, rollout.HoldNode(s, node, rollout.Taints{Runtime: corev1.Taint{Key: "skyhook.nvidia.com", Effect: corev1.TaintEffectNoSchedule}, Tolerated: c.defaults}, nil), c.want, c.message)
		})
	}
}

// TestHoldNodeOfNodeWright: nothing begins beside another operator, whichever of its objects has the record. What it keeps
// beside records says nothing.
func TestHoldNodeOfNodeWright(t *testing.T) {
	for key, want := range map[string]string{
		"nodewright.nvidia.com/nodeState_x":           "NodeWrightRecords blocked release",
		"nodewright.nvidia.com/autoTaint_x":           "",
		"skyhook.nvidia.com/nodeState_x":              "",
		"example.com/nodewright.nvidia.com_nodeState": "",
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{key: "{}"}}}
		message := ""
		if want != "" {
			message = "`kubectl annotate node n1 nodewright.nvidia.com/nodeState_x-`"
		}
		checkHold(t, rollout.HoldNode(&v1alpha1.Skyhook{}, node, rollout.Taints{}, nil), want, message)
	}
}

// TestHoldNodeUnderTheRuntimeTaint: nobody has to do anything about a taint that the operator removes by itself.
func TestHoldNodeUnderTheRuntimeTaint(t *testing.T) {
	const (
		operator = "other: the node has the taint skyhook.nvidia.com=runtime-required:NoSchedule, which the Skyhook does not tolerate; " +
			"the operator removes the taint when the Skyhooks with runtimeRequired are complete on the node"
		person = "administrator: the node has the taint %s, which the Skyhook does not tolerate; add a toleration to " +
			"spec.additionalTolerations, or find out who set the taint, and why"
	)
	runtime := corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	team := corev1.Taint{Key: "team", Effect: corev1.TaintEffectNoSchedule}
	gpu := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	paused := gpu.DeepCopy()
	paused.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	for _, c := range []struct {
		name     string
		required bool
		awaited  *v1alpha1.Skyhook
		taints   []corev1.Taint
		want     string
	}{
		{"it goes", false, gpu, []corev1.Taint{runtime}, operator},
		{"it stays", false, nil, []corev1.Taint{runtime}, fmt.Sprintf(person, runtime.ToString())},
		{"required", true, gpu, []corev1.Taint{runtime}, ""},
		{"another as well", false, gpu, []corev1.Taint{runtime, team}, fmt.Sprintf(person, "team:NoSchedule")},
		{"only another", false, gpu, []corev1.Taint{team}, fmt.Sprintf(person, "team:NoSchedule")},
		{"it waits for one that is paused", false, paused, []corev1.Taint{runtime}, strings.Replace(operator, "other", "administrator", 1) + ", but Skyhook gpu is paused or disabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Spec.RuntimeRequired = c.required
			got := ""
			n1 := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{Taints: c.taints}}
			h := rollout.HoldNode(s, n1, rollout.Taints{Runtime: runtime}, c.awaited)
			if h != nil {
				got = string(h.Frees) + ": " + h.Message
				if taint := strings.Contains(h.By, ":"); taint != strings.Contains(c.want, "additionalTolerations") {
					t.Errorf("held by %q: %s", h.By, h.Message)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			list := nodes("n1 complete; new")
			list[1].Hold = h
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: list, Now: now})
			if stalled := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled); stalled != strings.HasPrefix(c.want, "admin") {
				t.Errorf("stalled %t", stalled)
			}
		})
	}
}

func holdOrder(earlier ...rollout.Earlier) *situation.Hold {
	if first := rollout.Unfinished(slices.Values(earlier)); first != nil {
		return rollout.HoldAfter(first)
	}
	return nil
}

func TestHoldOrder(t *testing.T) {
	const waiting = "WaitingForSkyhook waiting release"
	earlier := func(name string, sequencing v1alpha1.Sequencing, status v1alpha1.Status, observed int64, here bool) rollout.Earlier {
		s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2}}
		s.Spec.Sequencing, s.Spec.Priority = sequencing, 17
		s.Status.Status, s.Status.ObservedGeneration = status, observed
		ready := metav1.ConditionFalse
		if status == v1alpha1.StatusComplete || status == v1alpha1.StatusPaused {
			ready = metav1.ConditionTrue
		}
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}
		return rollout.Earlier{Skyhook: s, IncompleteHere: here}
	}
	const node, all = v1alpha1.SequencingNode, v1alpha1.SequencingAll
	for _, c := range []struct {
		name    string
		earlier []rollout.Earlier
		want    string
		message string
	}{
		{name: "none"},
		{name: "node: incomplete here", earlier: []rollout.Earlier{earlier("a", node, v1alpha1.StatusInProgress, 2, true)}, want: waiting, message: "Skyhook a has priority 17 and is not complete on this node; see `kubectl describe skyhook a`"},
		{name: "node: incomplete elsewhere", earlier: []rollout.Earlier{earlier("a", node, v1alpha1.StatusInProgress, 2, false)}},
		{name: "no sequencing means node", earlier: []rollout.Earlier{earlier("a", "", v1alpha1.StatusErroring, 2, false)}},
		{name: "all: complete", earlier: []rollout.Earlier{earlier("a", all, v1alpha1.StatusComplete, 2, false)}},
		{name: "all: incomplete elsewhere", earlier: []rollout.Earlier{earlier("a", all, v1alpha1.StatusInProgress, 2, false)}, want: waiting, message: "on all its nodes"},
		{name: "all: complete, then paused", earlier: []rollout.Earlier{earlier("a", all, v1alpha1.StatusPaused, 2, false)}},
		{name: "all: complete of an earlier generation", earlier: []rollout.Earlier{earlier("a", all, v1alpha1.StatusComplete, 1, false)}, want: waiting},
		{name: "all: complete, as the status says, but not here", earlier: []rollout.Earlier{earlier("a", all, v1alpha1.StatusComplete, 2, true)}, want: waiting, message: "on this node"},
		{name: "all: incomplete elsewhere, and being deleted", earlier: []rollout.Earlier{func() rollout.Earlier {
			e := earlier("a", all, v1alpha1.StatusInProgress, 2, false)
			e.Skyhook.DeletionTimestamp = &metav1.Time{Time: now}
			return e
		}()}},
		{
			name: "the first that is unfinished is named", want: waiting, message: "Skyhook b",
			earlier: []rollout.Earlier{earlier("a", node, v1alpha1.StatusComplete, 2, false), earlier("b", node, "", 0, true), earlier("c", node, "", 0, true)},
		},
	} {
		t.Run(c.name, func(t *testing.T) { checkHold(t, holdOrder(c.earlier...), c.want, c.message) })
	}
}

// TestHoldByAPausedSkyhook: only a person has it continue, so the one that waits is stalled, and says who.
func TestHoldByAPausedSkyhook(t *testing.T) {
	base := skyhook(0)
	base.Name, base.Annotations = "base", map[string]string{v1alpha1.AnnotationPause: "true"}
	list := nodes("n1")
	list[0].Hold = holdOrder(rollout.Earlier{Skyhook: base, IncompleteHere: true})
	if by := list[0].Hold.By; by != "base" {
		t.Errorf("held by %q", by)
	}
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Nodes: list, Now: now})
	const want = "node n1: Skyhook base has priority 0 and is not complete on this node; it is paused: continue it with " +
		"`kubectl annotate skyhook base skyhook.nvidia.com/pause-`"
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	if c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonWaitingForSkyhook || c.Message != want {
		t.Errorf("Stalled is %+v", c)
	}
	if status.Status != v1alpha1.StatusWaiting || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("status %s, conditions %+v", status.Status, status.Conditions)
	}
}

func TestPrecedes(t *testing.T) {
	skyhook := func(name string, priority int, disabled string) *v1alpha1.Skyhook {
		return &v1alpha1.Skyhook{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationDisable: disabled}},
			Spec:       v1alpha1.SkyhookSpec{Priority: priority},
		}
	}
	for _, c := range []struct {
		name             string
		a, b             *v1alpha1.Skyhook
		before, precedes bool
	}{
		{"a lower priority", skyhook("z", 1, ""), skyhook("a", 2, ""), true, true},
		{"a higher priority", skyhook("a", 2, ""), skyhook("z", 1, ""), false, false},
		{"the same priority: by name", skyhook("a", 1, ""), skyhook("b", 1, ""), true, true},
		{"never itself", skyhook("a", 1, ""), skyhook("a", 1, ""), false, false},
		{"disabled: nobody waits", skyhook("a", 1, "true"), skyhook("b", 1, ""), true, false},
		{"every spelling of true disables", skyhook("a", 1, "1"), skyhook("b", 1, ""), true, false},
		{"what is no boolean does not", skyhook("a", 1, "yes"), skyhook("b", 1, ""), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rollout.Before(c.a, c.b); got != c.before {
				t.Errorf("Before: got %t", got)
			}
			if got := rollout.Precedes(c.a, c.b); got != c.precedes {
				t.Errorf("Precedes: got %t", got)
			}
		})
	}
}

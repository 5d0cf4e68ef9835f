package cli

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestWithoutAdvice tells a command of a message once, where the advice has it, and leaves any other message alone.
func TestWithoutAdvice(t *testing.T) {
	for _, tt := range []struct{ message, advice, want string }{
		{
			"the node is excluded by its label a/b=true; include it with `kubectl label node n1 a/b-`",
			"Include the node again with `kubectl label node n1 a/b-`.", "the node is excluded by its label a/b=true",
		},
		{
			"earlier is not complete; it is paused: continue it with `kubectl annotate skyhook earlier a/pause-`",
			"Nothing. If it is paused: `kubectl annotate skyhook earlier a/pause-`.", "earlier is not complete; it is paused",
		},
		{
			"the node has the taint a/b=c:NoSchedule, which is not tolerated; tolerate it, or look at it with " +
				"`kubectl describe node n1`",
			"Look at it: `kubectl describe node n1`.",
			"the node has the taint a/b=c:NoSchedule, which is not tolerated",
		},
		{"it is not Ready; delete it with `kubectl delete node n1`", "`kubectl delete node n2`", "it is not Ready; delete it with `kubectl delete node n1`"},
		{"nothing to run", "`kubectl delete node n2`", "nothing to run"},
	} {
		if got := withoutAdvice(tt.message, tt.advice); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.message, got, tt.want)
		}
	}
}

// TestAddressed gives the commands of messages the flags of the cluster, and nothing else.
func TestAddressed(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.Context = "far"
	s := target{"elsewhere", clusterFlags(flags, "")}
	for message, want := range map[string]string{
		"no command":                                             "no command",
		"see `kubectl describe skyhook gpu`":                     "see `kubectl describe skyhook gpu --context far`",
		"look: `kubectl get pod -n a b -o yaml`; then wait":      "look: `kubectl get pod -n a b -o yaml --context far`; then wait",
		"`kubectl annotate skyhook gpu --overwrite k=a,b`, or x": "`kubectl annotate skyhook gpu --overwrite k=a,b --context far`, or x",
		"continue with `kubectl skyhook resume --all`":           "continue with `kubectl skyhook resume --all -n elsewhere --context far`",
	} {
		if got := s.addressed(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}

// TestAttentionIsShort: ten nodes that need attention leave room on a screen; the wide output tells all.
func TestAttentionIsShort(t *testing.T) {
	node := v1alpha1.NodeAttention{
		Node: "n1", Status: v1alpha1.StatusBlocked, Reason: "NodeIgnored", Message: strings.Repeat("many words ", 50) + "kubectl label",
	}
	st := rolloutStatus{Rollout: board.Rollout{Name: "gpu", Attention: []v1alpha1.NodeAttention{node}}}
	for whole, most := range map[bool]int{false: 250, true: 700} {
		c := canvas{Renderer: lipgloss.NewRenderer(io.Discard), forPeople: strings.Clone, whole: whole}
		out := c.draw([]rolloutStatus{st})
		_, row, _ := strings.Cut(out, "  n1")
		if n := len(row); n > most || n < most/2 || !strings.Contains(out, "words kubectl label") {
			t.Errorf("%d bytes, most are %d:\n%s", n, most, out)
		}
	}
}

// TestConditionsOfTheCluster: what is wrong with a Skyhook is since when the cluster says so, not since the copy of it.
func TestConditionsOfTheCluster(t *testing.T) {
	known, copied := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	stalled := func(reason string, since metav1.Time) *v1alpha1.Skyhook {
		return &v1alpha1.Skyhook{Status: v1alpha1.SkyhookStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: since,
		}}}}
	}
	for _, tt := range []struct {
		name string
		now  *v1alpha1.Skyhook
		want metav1.Time
	}{
		{"it is still to come", &v1alpha1.Skyhook{}, metav1.Time{}},
		{"a new Skyhook", nil, metav1.Time{}},
		{"something else was wrong", stalled(v1alpha1.ReasonImageNotFound, known), metav1.Time{}},
		{"it is wrong already", stalled(v1alpha1.ReasonSpecInvalid, known), known},
	} {
		e := explainer{target{namespace: defaultNamespace}}
		got := e.conditions(tt.now, stalled(v1alpha1.ReasonSpecInvalid, copied))
		if len(got) != 1 || !got[0].Since.Equal(&tt.want) {
			t.Errorf("%s: %+v, want since %v", tt.name, got, tt.want)
		}
	}
}

// TestWhoEndsPodCannotStart: it is not the node that ends what is wrong with an image or with what a pod refers to,
// whether the pod has just not started or its run counts as failed.
func TestWhoEndsPodCannotStart(t *testing.T) {
	e := explainer{target{namespace: defaultNamespace}}
	for reason, want := range map[string]string{
		"ImagePullBackOff":           "author, package author, administrator",
		"InvalidImageName":           "author",
		"CreateContainerConfigError": "administrator, author",
		"ContainerCreating":          string(record.FreesNode),
	} {
		w := record.Wait{
			Package: "tuning", Reason: v1alpha1.ReasonPodCannotStart, Frees: record.FreesNode,
			Message: "pod tuning-1 has not started: " + reason + ": no such thing; kubectl describe pod -n skyhook tuning-1",
		}
		c := e.cause("gpu", w, "worker-1")
		if c.EndedBy != want || c.Do == "" {
			t.Errorf("%s: ended by %q, want %q; %q helps", reason, c.EndedBy, want, c.Do)
		}
		if reason == "ContainerCreating" {
			continue
		}
		failed := e.failing("gpu", "worker-1", record.Entry{Name: "tuning", Stage: v1alpha1.StageApply, Reason: reason})
		if failed.EndedBy != want || failed.Do != c.Do {
			t.Errorf("%s failed: ended by %q, want %q; %q helps", reason, failed.EndedBy, want, failed.Do)
		}
	}
}

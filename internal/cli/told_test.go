package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestWithoutAdvice tells a command of a message once, where the advice has it, and leaves any other message alone.
func TestWithoutAdvice(t *testing.T) {
	for _, tt := range []struct{ message, advice, want string }{
		{
			"the node is excluded by its label a/b=true; include it with kubectl label node n1 a/b-",
			"Include the node again with `kubectl label node n1 a/b-`.", "the node is excluded by its label a/b=true",
		},
		{
			"earlier is not complete; it is paused: continue it with kubectl annotate skyhook earlier a/pause-",
			"Nothing. If it is paused: `kubectl annotate skyhook earlier a/pause-`.", "earlier is not complete; it is paused",
		},
		{
			"the node has the taint a/b=c:NoSchedule, which is not tolerated; tolerate it, or remove the taint with " +
				"kubectl taint node n1 a/b:NoSchedule-",
			"Remove it: `kubectl taint node n1 a/b:NoSchedule-`.",
			"the node has the taint a/b=c:NoSchedule, which is not tolerated",
		},
		{"it is not Ready; delete it with kubectl delete node n1", "`kubectl delete node n2`", "it is not Ready; delete it with kubectl delete node n1"},
		{"nothing to run", "`kubectl delete node n2`", "nothing to run"},
	} {
		if got := withoutAdvice(tt.message, tt.advice); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.message, got, tt.want)
		}
	}
}

// TestPasteable gives the commands of messages the flags of the cluster, and nothing else.
func TestPasteable(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.Context = "far"
	s := &session{app: &app{flags: flags}, namespace: "elsewhere"}
	for message, want := range map[string]string{
		"no command":                                      "no command",
		"see kubectl describe skyhook gpu":                "see kubectl describe skyhook gpu --context far",
		"look: kubectl get pod -n a b -o yaml; then wait": "look: kubectl get pod -n a b -o yaml --context far; then wait",
		"leave it with kubectl annotate skyhook gpu --overwrite k=a,b, or wait": "leave it with kubectl annotate skyhook gpu --overwrite k=a,b --context far, or wait",
		"continue with kubectl skyhook resume --all":                            "continue with kubectl skyhook resume --all -n elsewhere --context far",
	} {
		if got := s.pasteable(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}

// TestAttentionIsShort: ten nodes that need attention leave room on a screen; the wide output tells all.
func TestAttentionIsShort(t *testing.T) {
	node := v1alpha1.NodeAttention{
		Node: "n1", Status: v1alpha1.StatusBlocked, Reason: "NodeIgnored", Message: strings.Repeat("many words ", 50) + "kubectl label",
	}
	st := rolloutStatus{Name: "gpu", Attention: []v1alpha1.NodeAttention{node}}
	for whole, most := range map[bool]int{false: 250, true: 700} {
		c := canvas{Renderer: lipgloss.NewRenderer(io.Discard), paste: strings.Clone, whole: whole}
		out := c.draw([]rolloutStatus{st})
		if n := len(out[strings.Index(out, "  n1"):]); n > most || n < most/2 || !strings.Contains(out, "words kubectl label") {
			t.Errorf("%d bytes, most are %d:\n%s", n, most, out)
		}
	}
}

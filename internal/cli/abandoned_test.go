package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestAbandonIsReverted: that packages were abandoned is told wherever a Skyhook is, and ends node by node.
func TestAbandonIsReverted(t *testing.T) {
	sk := &v1alpha1.Skyhook{}
	sk.Name = "gpu"
	to := target{namespace: defaultNamespace}
	if note := to.abandonedNote(sk); note != "" {
		t.Errorf("nothing is abandoned: %s", note)
	}
	sk.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "n1, n2,n3"}
	const want = "nothing is uninstalled on 3 nodes (n1, n2, n3), where it was abandoned; kubectl skyhook abandon gpu --revert ends that"
	if note := to.abandonedNote(sk); note != want {
		t.Errorf("got  %s\nwant %s", note, want)
	}
	st := rolloutOf(sk)
	st.abandoned = to.abandonedNote(sk)
	c := canvas{Renderer: lipgloss.NewRenderer(&strings.Builder{}), forPeople: to.forPeople}
	if said := c.skyhook(&st); !strings.Contains(said, want) {
		t.Errorf("status does not tell:\n%s", said)
	}
	var warned strings.Builder
	v := &view{}
	v.Skyhooks = []v1alpha1.Skyhook{*sk}
	v.heed(&warned, to, "gpu", false)
	if !strings.Contains(warned.String(), want) {
		t.Errorf("why does not tell:\n%s", warned.String())
	}
	withoutAbandoned(sk, []string{"n1", "n3", "n9"})
	if got := sk.Annotations[v1alpha1.AnnotationAbandonUninstall]; got != "n2" {
		t.Errorf("left: %q", got)
	}
	withoutAbandoned(sk, []string{"n2"})
	if _, there := sk.Annotations[v1alpha1.AnnotationAbandonUninstall]; there {
		t.Error("the annotation stays without a node")
	}
}

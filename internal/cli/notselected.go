package cli

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// notSelected is the reason of a node that a Skyhook does not select.
const notSelected = "NotSelected"

// notSelecting are the Skyhooks that do not select a node; none for no node.
func (v *view) notSelecting(node string) []string {
	i := slices.IndexFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == node })
	if i < 0 {
		return nil
	}
	var names []string
	for k := range v.Skyhooks {
		if sk := &v.Skyhooks[k]; !selects(sk, &v.Nodes[i]) {
			names = append(names, sk.Name)
		}
	}
	return names
}

// unselected is that no Skyhook selects a node: none of those that there are.
func (e explainer) unselected(node string, skyhooks []string) cause {
	return cause{Nodes: []string{node}, Cause: board.Cause{
		Reason: notSelected, EndedBy: "administrator",
		Message: "no Skyhook selects the node; those that exist: " + text.First(skyhooks, fewNodes),
		Do: e.addressed(fmt.Sprintf("If one should, compare `kubectl get node %s --show-labels` with spec.nodeSelectors in "+
			"`kubectl get skyhooks -o yaml`.", node)),
	}}
}

// printNotSelecting tells, behind what is the matter on a node, of Skyhooks that have nothing to do with it.
func (p printer) printNotSelecting(v *view, node string) {
	others := v.notSelecting(node)
	if len(others) == 0 || len(others) == len(v.Skyhooks) {
		return
	}
	names := text.First(others, fewNodes)
	if p.wide() {
		names = strings.Join(others, ", ")
	}
	fmt.Fprintf(p.out, "Not selected by %s: %s\n", text.Count(len(others), "Skyhook"), names)
}

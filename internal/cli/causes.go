package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// distinct tells each thing once: what a condition of a Skyhook says is left out where nodes say it, and what a node
// says twice, as its failed run and as its wait, is said by the run.
func distinct(all []cause) []cause {
	out := []cause{}
	for _, c := range all {
		same := func(o cause) bool { return o.Skyhook == c.Skyhook && o.Reason == c.Reason }
		nodes := slices.IndexFunc(all, func(o cause) bool {
			return same(o) && len(c.Nodes) == 0 && len(o.Nodes) > 0 && !c.wayOut
		})
		if nodes >= 0 {
			if all[nodes].Since.IsZero() {
				all[nodes].Since = c.Since
			}
			continue
		}
		if !slices.ContainsFunc(out, func(o cause) bool {
			return same(o) && o.Package == c.Package && slices.Equal(o.Nodes, c.Nodes)
		}) {
			out = append(out, c)
		}
	}
	return out
}

// follows are reasons of what ends when something else does, which is told as well.
var follows = []string{
	v1alpha1.ReasonWaitingForPermit, v1alpha1.ReasonWaitingForDependency, v1alpha1.ReasonWaitingForSerial,
	v1alpha1.ReasonWaitingForSkyhook, v1alpha1.ReasonWaitingForInterrupt, v1alpha1.ReasonWaitingForDependent,
	v1alpha1.ReasonWaitingForUninstall, v1alpha1.ReasonBackingOff, v1alpha1.ReasonRolloutStopped, v1alpha1.ReasonFailureThreshold,
}

// rank orders causes: that nobody carries anything out, what fails, what waits for a person or an event, and what follows
// from all that.
func (c *cause) rank() int {
	lost := c.Reason == v1alpha1.ReasonNodeNotReady && c.EndedBy != string(record.FreesNode)
	switch {
	case c.Skyhook == theOperator:
		return 0
	case c.behind, slices.Contains(follows, c.Reason):
		return 3
	case c.stage != "", lost, c.Reason == v1alpha1.ReasonRebootTimeout:
		return 1
	default:
		return 2
	}
}

// worstFirst orders causes by rank, and keeps the order of those that are alike.
func worstFirst(all []cause) []cause {
	slices.SortStableFunc(all, func(a, b cause) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// enders are the words for who can end a wait, as docs/reasons.md explains them.
var enders = map[string]string{
	"node": "something else on the node", "other": "another node, Skyhook or workload", "administrator": "an administrator",
	"author": "the author of the Skyhook", "package author": "the author of the package",
}

// whoEnds says who can end a cause; empty where nobody knows.
func (c *cause) whoEnds() string {
	if c.EndedBy == "" {
		return ""
	}
	var who []string
	byItself := false
	for _, by := range strings.Split(c.EndedBy, ", ") {
		if by == "time" {
			byItself = true
			continue
		}
		if words, ok := enders[by]; ok {
			by = words
		}
		who = append(who, by)
	}
	others := strings.Join(who, ", or ")
	switch {
	case !byItself:
		return " (who can end it: " + others + ")"
	case others == "":
		return " (it ends by itself)"
	default:
		return " (it ends by itself, or " + others + " ends it)"
	}
}

// folded breaks lines behind a number of columns, and never within a command: what is pasted has to be whole.
func folded(paragraph string, columns int) []string {
	var lines []string
	line, word := "", ""
	for _, part := range strings.Split(paragraph, " ") {
		if word += part; strings.Count(word, "`")%2 == 1 {
			word += " " // it goes on until the closing quote
			continue
		}
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
		word = ""
	}
	return append(lines, strings.TrimSpace(line+" "+word))
}

// heed warns of what makes an answer less than it seems to be.
func (v *view) heed(stderr io.Writer, to target, skyhook string, all bool) {
	for _, u := range v.unread {
		fmt.Fprintln(stderr, "Warning: you may not read "+u)
	}
	v.caution(stderr)
	for i := range v.Skyhooks {
		if sk := &v.Skyhooks[i]; all || sk.Name == skyhook {
			if unplanned := unplanned(sk); unplanned != "" {
				fmt.Fprintln(stderr, "Warning: "+unplanned)
			}
			if note := to.abandonedNote(sk); note != "" {
				fmt.Fprintf(stderr, "Warning: Skyhook %s: %s\n", sk.Name, note)
			}
			for _, sentence := range admission.Steering(sk) {
				fmt.Fprintf(stderr, "Warning: Skyhook %s: %s\n", sk.Name, sentence)
			}
		}
	}
}

// held are the reasons for which a Skyhook starts nothing, although no node waits for that.
var held = []string{v1alpha1.ReasonPaused, v1alpha1.ReasonDisabled, v1alpha1.ReasonAllStopped}

// fine says that nothing waits.
func (e explainer) fine(v *view, f forecast.Forecast, skyhook, node string) string {
	if node != "" && len(f.Skyhooks) == 0 {
		return fmt.Sprintf("Node %s: there is no Skyhook.", node)
	}
	if node != "" {
		return fmt.Sprintf("Node %s: nothing waits and nothing fails%s.", node, there(v.after(f), node))
	}
	if skyhook == "" {
		return everywhere(f.Skyhooks)
	}
	decided := named(f.Skyhooks, skyhook)
	if sk := named(v.Skyhooks, skyhook); sk.DeletionTimestamp != nil {
		return fmt.Sprintf("Skyhook %s: %s", skyhook, goes(sk, decided))
	}
	st := decided.Status
	if st.Nodes.Total == 0 {
		return fmt.Sprintf("Skyhook %s: %s; compare it with %s",
			skyhook, matchesNone, e.toCluster("kubectl get nodes --show-labels"))
	}
	if ready := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady); ready != nil && slices.Contains(held, ready.Reason) {
		return fmt.Sprintf("Skyhook %s: %s; nothing waits and nothing fails.", skyhook, ready.Message)
	}
	return fmt.Sprintf("Skyhook %s: %s, %s nodes complete; nothing waits and nothing fails.", skyhook, st.Status, st.CompleteNodes)
}

// everywhere says that nothing waits for any Skyhook.
func everywhere(all []v1alpha1.Skyhook) string {
	var said []string
	for i := range all {
		said = append(said, fmt.Sprintf("%s %s, %s nodes complete", all[i].Name, all[i].Status.Status, all[i].Status.CompleteNodes))
	}
	if len(said) == 0 {
		return "There is no Skyhook, so nothing waits and nothing fails."
	}
	return "Nothing waits and nothing fails: " + strings.Join(said, "; ") + "."
}

// goes is how far the deletion of a Skyhook is. decided is the Skyhook after what the operator does next; nil if it is
// gone then.
func goes(sk, decided *v1alpha1.Skyhook) string {
	switch {
	case !slices.Contains(sk.Finalizers, v1alpha1.Finalizer):
		return rollout.KeptByOthers(sk)
	case decided == nil || !slices.Contains(decided.Finalizers, v1alpha1.Finalizer):
		return "it is being deleted, and nothing holds that up."
	}
	message := "it is being deleted"
	if c := meta.FindStatusCondition(decided.Status.Conditions, v1alpha1.ConditionReconciling); c != nil {
		message = c.Message
	}
	return message + "; nothing holds that up."
}

// there is how far the Skyhooks are on a node.
func there(o *outlook, node string) string {
	if o.nodes[node] == nil {
		return ""
	}
	var said strings.Builder
	for i := range o.forecast.Skyhooks {
		name := o.forecast.Skyhooks[i].Name
		if here, selected := o.on(name, o.nodes[node]); selected {
			fmt.Fprintf(&said, "; Skyhook %s: %s", name, here.Status())
		}
	}
	return said.String()
}

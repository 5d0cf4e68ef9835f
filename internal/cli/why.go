package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func (a *app) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "why SKYHOOK",
		Short: "Say why a Skyhook or a node does not progress, and what helps",
		Long: "Lists everything that does not progress: why, since when, who can end it, and the command or field that helps.\n" +
			"The answer is computed by the operator's own code from what you may read, whether the operator runs or not.",
		Example:           "  kubectl skyhook why gpu-init\n  kubectl skyhook why node worker-1\n  kubectl skyhook why gpu-init -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.why(ctx, args[0], "")
		}),
	}
	c.AddCommand(&cobra.Command{
		Use:               "node NODE",
		Aliases:           []string{"nodes"},
		Short:             "Say why a node does not progress, for each Skyhook that concerns it",
		Example:           "  kubectl skyhook why node worker-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.why(ctx, "", args[0])
		}),
	})
	return c
}

// cause is one thing that does not progress.
type cause struct {
	Skyhook string   `json:"skyhook,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Package string   `json:"package,omitempty"`
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
	// Since is zero where nobody knows.
	Since   metav1.Time `json:"since,omitzero"`
	EndedBy string      `json:"endedBy,omitempty"`
	// Do is the command or field that helps.
	Do string `json:"do,omitempty"`
}

// why answers for one Skyhook, or for one node.
func (s *session) why(ctx context.Context, skyhook, node string) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := v.exists(skyhook, node); err != nil {
		return err
	}
	now := s.now()
	f, err := forecast.Run(v.Snapshot, v.ahead(now, 0))
	if err != nil {
		return err
	}
	causes := s.causes(v, f, skyhook, node)
	r := result{value: causes, empty: s.fine(f, skyhook, node)}
	for i := range causes {
		for _, n := range causes[i].Nodes {
			r.names = append(r.names, "node/"+n)
		}
	}
	s.heed(v, skyhook)
	if s.output != outputTable && s.output != outputWide {
		return s.print(r)
	}
	if len(causes) == 0 {
		return s.nothing(r.empty)
	}
	for i := range causes {
		fmt.Fprint(s.out, packagefile.PrintableLines(causes[i].lines(now, s.wide())))
	}
	return nil
}

func (v *view) exists(skyhook, node string) error {
	isNode := func(n corev1.Node) bool { return n.Name == cmp.Or(node, skyhook) }
	if skyhook != "" && !slices.ContainsFunc(v.Skyhooks, func(s v1alpha1.Skyhook) bool { return s.Name == skyhook }) {
		if slices.ContainsFunc(v.Nodes, isNode) {
			return fmt.Errorf("there is no Skyhook %q, but a node of that name: kubectl skyhook why node %s", skyhook, skyhook)
		}
		return fmt.Errorf("there is no Skyhook %q; kubectl get skyhooks lists those that exist, and "+
			"kubectl skyhook why node NODE asks for a node", skyhook)
	}
	if node != "" && !slices.ContainsFunc(v.Nodes, isNode) {
		return fmt.Errorf("there is no node %q; kubectl get nodes lists those that exist", node)
	}
	return nil
}

// columns are how wide text for people is made.
const columns = 116

// lines print one cause: who, what and since when; why; what helps.
func (c *cause) lines(now time.Time, wide bool) string {
	who := c.Skyhook
	if len(c.Nodes) > 0 {
		names := text.Names(c.Nodes)
		if wide {
			names = strings.Join(c.Nodes, ", ")
		}
		who = strings.TrimPrefix(who+" on "+names, " on ")
	}
	if c.Package != "" {
		who += ", package " + c.Package
	}
	since := ""
	if !c.Since.IsZero() {
		since = " for " + duration.HumanDuration(now.Sub(c.Since.Time))
	}
	out := fmt.Sprintf("%s: %s%s%s\n    %s\n", who, c.Reason, since, c.whoEnds(), strings.ReplaceAll(c.Message, "\n", "\n    "))
	if c.Do != "" {
		out += "    " + strings.Join(folded("What helps: "+c.Do, columns), "\n    ") + "\n"
	}
	return out
}

// causes are all things that do not progress; first what holds everything, then by reason.
func (s *session) causes(v *view, f forecast.Forecast, skyhook, node string) []cause {
	all := []cause{}
	if d := v.deployment; d != nil && d.Status.ReadyReplicas == 0 {
		all = append(all, cause{
			Reason: "OperatorNotReady", Skyhook: "the operator", EndedBy: "administrator",
			Message: fmt.Sprintf("no replica of Deployment %s in namespace %s is ready, so nothing progresses",
				d.Name, d.Namespace),
			Do: s.addressed(fmt.Sprintf("Look at `kubectl describe deployment -n %s %s`, and read `kubectl logs -n %s deployment/%s`.",
				d.Namespace, d.Name, d.Namespace, d.Name)),
		})
	}
	for i := range f.Skyhooks {
		sk := &f.Skyhooks[i]
		if skyhook != "" && sk.Name != skyhook {
			continue
		}
		if node == "" {
			all = append(all, s.conditions(sk)...)
		}
		all = append(all, grouped(s.onNodes(v, f, sk, node))...)
	}
	return distinct(all)
}

// conditions are what is wrong with a whole Skyhook, as far as no node tells of it.
func (s *session) conditions(sk *v1alpha1.Skyhook) []cause {
	var all []cause
	for _, kind := range []string{
		v1alpha1.ConditionStalled, v1alpha1.ConditionDeletionBlocked, v1alpha1.ConditionUninstallFailed,
		v1alpha1.ConditionUninstallRequired, v1alpha1.ConditionDepartedNotReady,
	} {
		c := meta.FindStatusCondition(sk.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason == v1alpha1.ReasonNodesErroring {
			continue
		}
		all = append(all, s.cause(sk.Name, record.Wait{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime}, ""))
	}
	return all
}

// onNodes are the causes on single nodes.
func (s *session) onNodes(v *view, f forecast.Forecast, sk *v1alpha1.Skyhook, node string) []cause {
	var all []cause
	for i := range f.Cluster {
		n := &f.Cluster[i]
		if node != "" && n.Name != node {
			continue
		}
		r, err := record.Read(sk.Name, n.Annotations)
		if err == nil {
			for _, e := range (&onNode{record: r}).entries() {
				if e.State == v1alpha1.StateErroring && !e.Superseded {
					all = append(all, s.failing(sk.Name, n.Name, e))
				}
			}
		}
		for _, w := range f.Decided[forecast.NodeOf{Node: n.Name, Skyhook: sk.Name}] {
			w.Since = sinceOf(v, sk.Name, n.Name, w)
			all = append(all, s.cause(sk.Name, w, n.Name))
		}
		if node != "" && !selects(sk, n) && len(all) == 0 {
			all = append(all, cause{
				Skyhook: sk.Name, Nodes: []string{n.Name}, Reason: "NotSelected", EndedBy: "administrator",
				Message: "the labels of the node do not match spec.nodeSelectors of the Skyhook",
				Do:      fmt.Sprintf("If it should, compare `kubectl get node %s --show-labels` with `kubectl get skyhook %s -o yaml`.", n.Name, sk.Name),
			})
		}
	}
	return all
}

func selects(sk *v1alpha1.Skyhook, n *corev1.Node) bool {
	selector, err := metav1.LabelSelectorAsSelector(&sk.Spec.NodeSelectors)
	return err == nil && selector.Matches(labels.Set(n.Labels))
}

// sinceOf is since when the cluster itself knows of a wait: the copy of it has only just begun to wait.
func sinceOf(v *view, skyhook, node string, w record.Wait) metav1.Time {
	i := slices.IndexFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == node })
	if i < 0 {
		return w.Since
	}
	known, _ := record.Read(skyhook, v.Nodes[i].Annotations) // a wait stands beside what cannot be read
	if known.Wait != nil && known.Wait.Reason == w.Reason && !known.Wait.Since.IsZero() {
		return known.Wait.Since
	}
	return metav1.Time{}
}

// failing is a stage that failed, with the last lines of what it printed.
func (s *session) failing(skyhook, node string, e record.Entry) cause {
	w := record.Wait{Package: e.Name, Reason: e.Reason, Since: e.Since}
	w.Message = fmt.Sprintf("%s of %s %s failed", e.Stage, e.Name, e.Version)
	if e.Restarts > 0 {
		w.Message += ", " + text.Count(int(e.Restarts), "time")
	}
	w.Message += ": " + e.Message
	c := s.cause(skyhook, w, node)
	if c.Do == "" {
		c.Do = "Correct the package or its configuration; the stage is retried."
	}
	c.Do += s.addressed(fmt.Sprintf(" `kubectl skyhook package logs %s --skyhook %s --node %s --stage %s` prints its output.",
		e.Name, skyhook, node, e.Stage))
	return c
}

func (s *session) cause(skyhook string, w record.Wait, node string) cause {
	c := cause{
		Skyhook: skyhook, Package: w.Package, Reason: w.Reason, Message: w.Message, Since: w.Since, EndedBy: string(w.Frees),
	}
	if node != "" {
		c.Nodes = []string{node}
	}
	if c.Reason == "" {
		c.Reason = "Unknown"
	}
	if c.EndedBy == "" {
		c.EndedBy = strings.Join(slices.DeleteFunc(slices.Clone(reasons()[w.Reason].EndedBy),
			func(by string) bool { return by == "none" || by == "message" }), ", ")
	}
	c.Do = s.addressed(subject{skyhook, node, w.Package, s.namespace}.advice(w.Reason))
	return c
}

// grouped puts nodes together that wait for the same, those that few wait for first.
func grouped(all []cause) []cause {
	var out []cause
	for _, c := range all {
		i := slices.IndexFunc(out, func(o cause) bool {
			return o.Skyhook == c.Skyhook && o.Package == c.Package && o.Reason == c.Reason && o.Message == c.Message
		})
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].Nodes = append(out[i].Nodes, c.Nodes...)
		if c.Since.Before(&out[i].Since) {
			out[i].Since = c.Since
		}
	}
	slices.SortStableFunc(out, func(a, b cause) int { return cmp.Compare(len(a.Nodes), len(b.Nodes)) })
	return out
}

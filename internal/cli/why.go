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

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func (a *app) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "why [SKYHOOK]",
		Short: "Say why a Skyhook, a node or anything at all does not progress, and what to do",
		Long: "Lists everything that does not progress, the worst first, and causes before what follows from them: why, since\n" +
			"when, who can end it, what to do, and, if a command can end it without harm, that command, ready to copy.\n" +
			"Without a name, it answers for all Skyhooks. VALUE in a command stands for a value that only a person knows.\n" +
			"Then lists the stages that run, which may hang, and for how long. The answer comes from the operator's own code\n" +
			"and from what you may read, whether or not the operator is running. If no replica of it is ready\n" +
			"(OperatorNotReady) or leads (OperatorNotLeading), the answer says so, provided that you may list Deployments\n" +
			"and get Leases in its namespace.",
		Example:           "  kubectl skyhook why\n  kubectl skyhook why gpu-init\n  kubectl skyhook why node worker-1\n  kubectl skyhook why gpu-init -o json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.why(ctx, strings.Join(args, ""), "")
		}),
	}
	c.AddCommand(&cobra.Command{
		Use:               "node NODE",
		Aliases:           []string{"nodes"},
		Short:             "Say why a node does not progress, for each of its Skyhooks",
		Example:           "  kubectl skyhook why node worker-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.why(ctx, "", args[0])
		}),
	})
	return c
}

// explainer says why Skyhooks and nodes do not progress, and what helps.
type explainer struct{ target }

// cause is one thing that does not progress.
type cause struct {
	Skyhook string   `json:"skyhook,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	board.Cause

	// by is what has to go or to change, and of the reason that lasted too long, as record.Wait has them; by of a wait for a
	// permit is the compartment. stage is the one that failed.
	by, of string
	stage  v1alpha1.Stage
	// first says that the command names only the first of the nodes.
	first bool
	// lost says that the pod did not fail, but was lost.
	lost bool
	// later says that nothing helps before another cause has ended, and behind that this one is told before.
	later, behind bool
	// wayOut says that it tells how to do without what a node waits for.
	wayOut bool
	// begun says that work has begun on the node: a person looks at it before anything is taken from it.
	begun bool
	// logs says how to read what its stage printed; empty if nothing did.
	logs string
}

// why answers for one Skyhook, for one node, or for all Skyhooks.
func (s *session) why(ctx context.Context, skyhook, node string) error {
	v, err := s.read.look(ctx, node)
	if err != nil {
		return err
	}
	if err := s.explain.exists(v, skyhook, node); err != nil {
		return err
	}
	now := s.now()
	f, err := v.decided(now, node)
	if err != nil {
		return err
	}
	causes := s.explain.causes(v, f, skyhook, node)
	for i := range causes {
		s.explain.conclude(v, f, &causes[i])
	}
	r := result{value: causes, empty: s.explain.fine(v, f, skyhook, node)}
	for i := range causes {
		for _, n := range causes[i].Nodes {
			r.names = append(r.names, "node/"+n)
		}
	}
	v.heed(s.err, s.target, skyhook, skyhook == "" && node == "")
	if !s.tables() {
		return s.print(r)
	}
	if len(causes) == 0 {
		fmt.Fprintln(s.out, r.empty)
	}
	for i := range causes {
		fmt.Fprint(s.out, packagefile.PrintableLines(causes[i].lines(now, s.wide())))
	}
	for _, w := range s.explain.atWork(v, causes, skyhook, node) {
		fmt.Fprint(s.out, packagefile.PrintableLines(w.line(s.target, now)))
	}
	s.printNotSelecting(v, node)
	return nil
}

func (e explainer) exists(v *view, skyhook, node string) error {
	isNode := func(n corev1.Node) bool { return n.Name == cmp.Or(node, skyhook) }
	if skyhook != "" && !slices.ContainsFunc(v.Skyhooks, func(sk v1alpha1.Skyhook) bool { return sk.Name == skyhook }) {
		if slices.ContainsFunc(v.Nodes, isNode) {
			return fmt.Errorf("there is no Skyhook %q, but a node of that name: %s", skyhook,
				e.toCluster("kubectl skyhook why node "+skyhook))
		}
		return fmt.Errorf("there is no Skyhook %q; %s lists those that exist, and "+
			"kubectl skyhook why node NODE asks for a node", skyhook, e.toCluster("kubectl get skyhooks"))
	}
	if node != "" && !slices.ContainsFunc(v.Nodes, isNode) {
		return fmt.Errorf("there is no node %q; %s lists those that exist", node, e.toCluster("kubectl get nodes"))
	}
	return nil
}

const (
	// columns are how wide text for people is made.
	columns = 116
	// fewNodes are those that a cause names; the wide output names all.
	fewNodes = 5
)

// told is the message as people read it.
func (c *cause) told() string {
	if c.stage != "" {
		return c.Message // that is what a script printed
	}
	return namedCompartments(c.Message)
}

// lines print one cause: who, what and since when; why; what helps.
func (c *cause) lines(now time.Time, wide bool) string {
	who := c.Skyhook
	if len(c.Nodes) > 0 {
		names := text.First(c.Nodes, fewNodes)
		if wide {
			names = strings.Join(c.Nodes, ", ")
		}
		who = strings.TrimPrefix(who+" on "+names, " on ")
	}
	if c.Package != "" {
		who += ", package " + c.Package
	}
	since := ""
	if !c.Since.IsZero() && !c.Since.After(now) { // a plan tells of what is to come, too
		since = " for " + ago(now, c.Since.Time)
	}
	out := fmt.Sprintf("%s: %s%s%s\n    %s\n", who, c.Reason, since, c.whoEnds(), strings.ReplaceAll(c.told(), "\n", "\n    "))
	if c.Do != "" {
		out += "    " + strings.Join(folded("What helps: "+c.Do, columns), "\n    ") + "\n"
	}
	switch {
	case c.RunOnNode:
		out += "    Command, on the node: " + c.Command + "\n"
	case c.Command != "":
		out += "    Command: " + c.Command + "\n"
	}
	return out
}

// causes are all things that do not progress; first what holds everything, then by reason.
func (e explainer) causes(v *view, f forecast.Forecast, skyhook, node string) []cause {
	all, after := e.ofOperator(v, f.Start), v.after(f)
	for i := range f.Skyhooks {
		sk := &f.Skyhooks[i]
		if skyhook != "" && sk.Name != skyhook {
			continue
		}
		all = append(all, e.causesOf(after, sk, v.Nodes, node)...)
	}
	for i := range v.Skyhooks {
		if sk := &v.Skyhooks[i]; skyhook == "" || sk.Name == skyhook {
			all = append(all, e.refusals(v, sk, node)...)
		}
	}
	if others := v.notSelecting(node); len(others) > 0 && len(others) == len(v.Skyhooks) && len(all) == 0 {
		all = append(all, e.unselected(node, others))
	}
	return worstFirst(distinct(all))
}

// theOperator is whom a cause is about that is about no Skyhook.
const theOperator = "the operator"

// ofOperator is that no replica of the operator works.
func (e explainer) ofOperator(v *view, now time.Time) []cause {
	told := func(c board.Cause) []cause {
		c.EndedBy = "administrator"
		return []cause{{Skyhook: theOperator, Cause: c}}
	}
	d, silent := v.deployment, v.leaderless(now)
	switch {
	case v.down(now):
		return told(board.Cause{
			Reason: "OperatorNotReady",
			Message: fmt.Sprintf("no replica of Deployment %s in namespace %s is ready, so nothing changes until one is",
				d.Name, d.Namespace),
			Do: e.addressed(fmt.Sprintf("Look at `kubectl describe deployment -n %s %s`, and read `kubectl logs -n %s deployment/%s`.",
				d.Namespace, d.Name, d.Namespace, d.Name)),
		})
	case !silent.IsZero():
		lease := "renews the lease " + settings.LeaseName + ", by this computer's clock"
		if v.lease.Spec.RenewTime == nil {
			lease = "has written the lease " + settings.LeaseName + " yet"
		}
		logs := fmt.Sprintf("kubectl logs -n %s -l %s --tail=-1", d.Namespace, metav1.FormatLabelSelector(d.Spec.Selector))
		return told(board.Cause{
			Reason: "OperatorNotLeading", Since: metav1.NewTime(silent),
			Message: fmt.Sprintf("no replica of Deployment %s in namespace %s %s, so none leads, and nothing progresses",
				d.Name, d.Namespace, lease),
			Do: fmt.Sprintf("`%s | grep %s | tail -5` prints the API server's answer.", e.toCluster(logs), settings.LeaseName),
		})
	default:
		return []cause{}
	}
}

// causesOf are the causes of one Skyhook, on the node that is named or on all: what is wrong with it as a whole comes
// first, unless a node tells the same.
func (e explainer) causesOf(o *outlook, sk *v1alpha1.Skyhook, nodes []corev1.Node, only string) []cause {
	here := grouped(e.onNodes(o, sk, nodes, only))
	if only != "" {
		return here
	}
	here = append(e.gone(o.view, sk), here...)
	whole := slices.DeleteFunc(e.conditions(named(o.Skyhooks, sk.Name), sk), func(c cause) bool {
		return !c.wayOut && slices.ContainsFunc(here, func(o cause) bool { return o.Reason == c.Reason })
	})
	return worstFirst(append(whole, here...))
}

// conditions are what is wrong with a whole Skyhook, as far as no node tells of it: since when, the cluster itself knows;
// where nothing is wrong yet, nobody does.
func (e explainer) conditions(now, sk *v1alpha1.Skyhook) []cause {
	var all []cause
	for _, kind := range []string{
		v1alpha1.ConditionRolloutStopped, v1alpha1.ConditionStalled, v1alpha1.ConditionDeletionBlocked, v1alpha1.ConditionUninstallFailed,
		v1alpha1.ConditionUninstallRequired, v1alpha1.ConditionDepartedNotReady,
	} {
		c := meta.FindStatusCondition(sk.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason == v1alpha1.ReasonNodesErroring ||
			slices.ContainsFunc(all, func(told cause) bool {
				return told.Message == c.Message || told.Reason == v1alpha1.ReasonFailureThreshold && c.Reason == v1alpha1.ReasonRolloutStopped
			}) {
			continue
		}
		w := record.Wait{Reason: c.Reason, Message: c.Message}
		if now != nil {
			if known := meta.FindStatusCondition(now.Status.Conditions, kind); known != nil && known.Status == c.Status && known.Reason == c.Reason {
				w.Since = known.LastTransitionTime
			}
		}
		whole := e.cause(sk.Name, w, "")
		if whole.wayOut = kind == v1alpha1.ConditionDeletionBlocked; whole.wayOut {
			whole.Do = "" // the message has it
		}
		all = append(all, whole)
	}
	return all
}

// onNodes are the causes on single nodes, or on the one that is named. What failed there is read from nodes.
func (e explainer) onNodes(o *outlook, sk *v1alpha1.Skyhook, nodes []corev1.Node, only string) []cause {
	var all []cause
	for i := range nodes {
		n := &nodes[i]
		if only != "" && n.Name != only {
			continue
		}
		all = append(all, e.onNode(o, sk, n)...)
	}
	return all
}

func holds(sk *v1alpha1.Skyhook, node string) bool {
	return slices.ContainsFunc(sk.Status.Permits, func(p v1alpha1.Permit) bool { return p.Node == node })
}

// permitMessage says who has the permits that others wait for; empty if the status does not.
func permitMessage(sk *v1alpha1.Skyhook) string {
	for _, w := range sk.Status.Waiting {
		if w.Reason == v1alpha1.ReasonWaitingForPermit {
			return w.Message
		}
	}
	return ""
}

func selects(sk *v1alpha1.Skyhook, n *corev1.Node) bool {
	selector, err := admission.Target(sk)
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
	if sk := named(v.Skyhooks, skyhook); sk != nil {
		for _, a := range sk.Status.Attention {
			if a.Node == node && a.Reason == w.Reason {
				return a.Since
			}
		}
	}
	return metav1.Time{}
}

func (e explainer) cause(skyhook string, w record.Wait, node string) cause {
	c := cause{
		Skyhook: skyhook, by: w.By, of: w.Of,
		Cause: board.Cause{Package: w.Package, Reason: w.Reason, Message: w.Message, Since: w.Since, EndedBy: string(w.Frees)},
	}
	if node != "" {
		c.Nodes = []string{node}
	}
	if c.Reason == "" {
		c.Reason = "Unknown"
	}
	if c.EndedBy == "" {
		if by := textOf(w.Reason).EndedBy; len(by) > 0 && by[0] != "none" && by[0] != "message" { // those are alone
			c.EndedBy = strings.Join(by, ", ")
		}
	}
	about := e.about(skyhook, node, w)
	advice := about.advice(w.Reason)
	switch {
	case w.Of != "":
		advice = about.advice(w.Of) + " " + advice
	case untaints(w.Reason, w.By):
		advice = fmt.Sprintf("Nothing while Skyhook %s progresses; `kubectl skyhook why %[1]s` says what it waits for.", w.By)
	}
	c.Message, c.Do = e.addressed(withoutAdvice(w.Message, advice)), e.addressed(advice)
	if w.Reason == v1alpha1.ReasonPodCannotStart {
		e.explain(&c, w.Message)
	}
	return c
}

// untaints reports whether a Skyhook has to end before the operator takes a taint off, and not a person.
func untaints(reason, by string) bool {
	return reason == v1alpha1.ReasonTaintNotTolerable && by != "" && !strings.Contains(by, ":")
}

// about is what a wait is about. A pod is told from a taint, whose key may have a slash, by the colon before an effect.
func (e explainer) about(skyhook, node string, w record.Wait) subject {
	of := subject{skyhook: skyhook, node: node, pkg: w.Package, namespace: e.namespace, by: w.By}
	if namespace, pod, ok := strings.Cut(w.By, "/"); ok && !strings.Contains(w.By, ":") {
		of.podNamespace, of.pod = namespace, pod
	}
	return of
}

// explain says what helps against what the kubelet says of a pod that cannot start.
func (e explainer) explain(c *cause, message string) {
	for reason := range ofKubelet {
		if strings.Contains(message, ": "+reason+": ") {
			c.Do = subject{pkg: c.Package, namespace: e.namespace}.advice(reason)
			c.EndedBy = strings.Join(textOf(reason).EndedBy, ", ")
		}
	}
}

// grouped puts nodes together that wait for the same, those that few wait for first.
func grouped(all []cause) []cause {
	var out []cause
	for _, c := range all {
		i := slices.IndexFunc(out, func(o cause) bool {
			return o.Skyhook == c.Skyhook && o.Package == c.Package && o.Reason == c.Reason && o.Message == c.Message && o.by == c.by
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
	return worstFirst(out)
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func (a *app) nodeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "node COMMAND",
		Short: "Show, exclude and reset nodes",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine: true,
	}
	c.AddCommand(a.nodeListCommand(), a.nodeStatusCommand(), a.nodeSafeCommand(), a.nodeResetCommand(),
		a.ignoreCommand(true), a.ignoreCommand(false),
		a.excludeCommand(), a.includeCommand())
	return c
}

// run connects and runs a command.
func (a *app) run(do func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := a.connect(c)
		if err != nil {
			return err
		}
		return do(c.Context(), s, args)
	}
}

// skyhookFlag adds --skyhook.
func (a *app) skyhookFlag(c *cobra.Command, name *string, required bool) {
	c.Flags().StringVar(name, "skyhook", "", "the Skyhook `NAME`")
	_ = c.RegisterFlagCompletionFunc("skyhook", a.completeSkyhooks) // fails for a flag that is not there only
	if required {
		_ = c.MarkFlagRequired("skyhook")
	}
}

func (a *app) nodeListCommand() *cobra.Command {
	var skyhook string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the nodes that a Skyhook has worked on",
		Example: "  kubectl skyhook node list --skyhook gpu-init\n  kubectl skyhook node list --skyhook gpu-init -o wide",
		Args:    cobra.NoArgs,
		RunE:    a.run(func(ctx context.Context, s *session, _ []string) error { return s.listNodes(ctx, skyhook) }),
	}
	a.skyhookFlag(c, &skyhook, true)
	return c
}

// nodeSummary is one node in the output of node list.
type nodeSummary struct {
	NodeName         string          `json:"nodeName"`
	Status           v1alpha1.Status `json:"status"`
	PackagesComplete int             `json:"packagesComplete"`
	PackagesTotal    int             `json:"packagesTotal"`
	Restarts         int32           `json:"restarts"`
}

func (s *session) listNodes(ctx context.Context, skyhook string) error {
	all, err := s.read.nodes(ctx)
	if err != nil {
		return err
	}
	v, err := s.read.glance(ctx)
	if err != nil {
		return err
	}
	see, list := sightOf(v.options, &v.Snapshot), []nodeSummary{}
	r := result{
		columns: []string{"NODE", "STATUS", "PACKAGES"}, empty: fmt.Sprintf("No nodes found for Skyhook %q", skyhook),
	}
	if s.wide() {
		r.columns = append(r.columns, "RESTARTS")
	}
	for _, o := range s.read.having(all, skyhook) {
		n := nodeSummary{NodeName: o.node.Name, Status: see.status(skyhook, &o.node), Restarts: o.restarts()}
		n.PackagesComplete, n.PackagesTotal = o.progress(see.selecting(skyhook, &o.node))
		list = append(list, n)
		row := []string{n.NodeName, shown(n.Status), fmt.Sprintf("%d/%d", n.PackagesComplete, n.PackagesTotal)}
		if s.wide() {
			row = append(row, strconv.Itoa(int(n.Restarts)))
		}
		r.rows, r.names = append(r.rows, row), append(r.names, "node/"+n.NodeName)
	}
	r.value = map[string]any{"skyhookName": skyhook, "nodes": list}
	if len(list) > 0 {
		r.header = []string{"Skyhook: " + skyhook, "", summarize(list)}
	}
	return s.print(r)
}

// shown is how tables show a status: what needs a person stands out.
func shown(status v1alpha1.Status) string {
	if status == v1alpha1.StatusErroring {
		return strings.ToUpper(string(status))
	}
	return string(status)
}

// summarize counts nodes by status: the three that matter always, others where there are any.
func summarize(list []nodeSummary) string {
	counts := map[v1alpha1.Status]int{}
	for _, n := range list {
		counts[n.Status]++
	}
	parts := []string{}
	for _, st := range []v1alpha1.Status{v1alpha1.StatusComplete, v1alpha1.StatusErroring, v1alpha1.StatusInProgress} {
		parts = append(parts, fmt.Sprintf("%d %s", counts[st], strings.ReplaceAll(string(st), "_", " ")))
	}
	for _, st := range []v1alpha1.Status{
		v1alpha1.StatusWaiting, v1alpha1.StatusBlocked, v1alpha1.StatusPaused, v1alpha1.StatusDisabled,
		v1alpha1.StatusUnknown,
	} {
		if counts[st] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[st], st))
		}
	}
	return fmt.Sprintf("Summary: %d nodes (%s)", len(list), strings.Join(parts, ", "))
}

func (a *app) nodeResetCommand() *cobra.Command {
	var (
		skyhook string
		yes     bool
	)
	c := &cobra.Command{
		Use:   "reset NODE...",
		Short: "Remove the records of nodes, so that every package is applied again there",
		Long: "Removes the records of nodes, so that every package is applied again there, after saying which of them are\n" +
			"drained and rebooted for that, and which pods are evicted.",
		Example: "  kubectl skyhook node reset worker-1 --skyhook gpu-init\n" +
			"  kubectl skyhook node reset 'worker-.*' --skyhook gpu-init --yes",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.reset(ctx, skyhook, args, false, yes)
		}),
	}
	a.skyhookFlag(c, &skyhook, true)
	confirmFlag(c, &yes)
	return c
}

// includeCommand is node unignore by the name that fits to exclude.
func (a *app) includeCommand() *cobra.Command {
	c := a.ignoreCommand(false)
	c.Use, c.Example = "include NODE...", "  kubectl skyhook node include worker-1"
	return c
}

// ignoreCommand is node ignore, or node unignore.
func (a *app) ignoreCommand(ignore bool) *cobra.Command {
	verb, short := "unignore", "Let Skyhooks work on nodes again"
	if ignore {
		verb, short = "ignore", "Exclude nodes from all Skyhooks; running scripts finish"
	}
	return &cobra.Command{
		Use:               verb + " NODE...",
		Short:             short,
		Example:           fmt.Sprintf("  kubectl skyhook node %s worker-1\n  kubectl skyhook node %s 'gpu-.*'", verb, verb),
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.ignore(ctx, args, ignore)
		}),
	}
}

func (s *session) ignore(ctx context.Context, patterns []string, ignore bool) error {
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	if len(matched) == 0 {
		return s.nothing("No nodes matched the specified patterns")
	}
	doing, done, already := "Unignoring", "unignored", "not ignored"
	if ignore {
		doing, done, already = "Ignoring", "ignored", "already ignored"
	}
	fmt.Fprintf(s.out, "%s %d node(s):\n", doing, len(matched))
	for _, n := range matched {
		fmt.Fprintln(s.out, "  - "+n.Name)
	}
	if s.write.dryRun == dryRunClient {
		fmt.Fprintln(s.out, "[dry-run] No changes applied")
		return nil
	}
	change := ignoreChange(ignore)
	todo := slices.DeleteFunc(matched, func(n corev1.Node) bool {
		if !change(&n).Empty() {
			return false
		}
		fmt.Fprintf(s.out, "  %s: %s\n", n.Name, already)
		return true
	})
	count, failed := s.write.patchNodes(ctx, "changing", todo, func(n *corev1.Node) (record.Patch, error) { return change(n), nil })
	fmt.Fprintf(s.out, "Successfully %s %d node(s)%s\n", done, count, s.write.dryNote())
	return failed
}

func ignoreChange(ignore bool) func(*corev1.Node) record.Patch {
	return func(n *corev1.Node) record.Patch {
		value, there := n.Labels[v1alpha1.LabelIgnore]
		switch {
		case ignore && value != "true":
			return record.Patch{Labels: map[string]*string{v1alpha1.LabelIgnore: new("true")}}
		case !ignore && there:
			return record.Patch{Labels: map[string]*string{v1alpha1.LabelIgnore: nil}}
		}
		return record.Patch{}
	}
}

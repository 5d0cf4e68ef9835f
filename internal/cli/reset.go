package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

func (a *app) resetCommand() *cobra.Command {
	var yes, skip bool
	c := &cobra.Command{
		Use:   "reset SKYHOOK",
		Short: "Remove the records of all nodes, so that every package is applied again",
		Long: "Removes the nodes' records of a Skyhook, so that every package is applied again on all of them, within the\n" +
			"Skyhook's budget. Nothing is uninstalled. A rollout in batches starts again with its first batch. Says first which\n" +
			"nodes are drained and rebooted for that, and which pods are evicted.",
		Example:           "  kubectl skyhook reset gpu-init\n  kubectl skyhook reset gpu-init --skip-batch-reset --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.reset(ctx, args[0], nil, !skip, yes)
		}),
	}
	confirmFlag(c, &yes)
	c.Flags().BoolVar(&skip, "skip-batch-reset", false, "leave the batches of the deployment policy as they are")
	return c
}

// reset removes the records of a Skyhook from the nodes that the patterns name, and begins with its first
// batch again.
func (s *session) reset(ctx context.Context, name string, patterns []string, batches, yes bool) error {
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	if len(patterns) > 0 && len(matched) == 0 {
		return s.nothing("No nodes matched the specified patterns")
	}
	var found []onNode
	for _, n := range matched {
		if _, ok := n.Annotations[v1alpha1.AnnotationNodeStatePrefix+name]; ok {
			r, _ := record.Read(name, n.Annotations) // what cannot be read is all the more to be reset
			found = append(found, onNode{node: n, skyhook: name, record: r})
		}
	}
	if len(found) == 0 {
		fmt.Fprintf(s.out, "No nodes have state for Skyhook %q\n", name)
		return s.resetOnlyBatches(ctx, name, batches, yes)
	}
	change := func(n *corev1.Node) (record.Patch, error) { return record.Reset(name, n.Annotations, n.Labels), nil }
	announceReset(s.out, name, found, batches)
	s.tellConsequences(ctx, name, found, change, batches)
	if !s.write.confirmed(yes, "The packages are applied again on these nodes.") {
		return nil
	}
	nodes := make([]corev1.Node, len(found))
	for i := range found {
		nodes[i] = found[i].node
	}
	done, failed := s.write.patchNodes(ctx, "resetting", nodes, change)
	fmt.Fprintf(s.out, "Successfully reset %d node(s) for Skyhook %q%s\n", done, name, s.write.dryNote())
	if batches && ctx.Err() == nil {
		if err := s.write.resetBatches(ctx, name); err != nil {
			return errors.Join(failed, s.read.unlessGone(name, err))
		}
		fmt.Fprintf(s.out, "Batch state reset for Skyhook %q%s\n", name, s.write.dryNote())
	}
	return failed
}

// resetOnlyBatches is for a Skyhook that has begun on no node: its rollout may be stopped all the same.
func (s *session) resetOnlyBatches(ctx context.Context, name string, batches, yes bool) error {
	if !batches {
		return nil
	}
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return s.read.unlessGone(name, err)
	}
	if len(found.Status.CompartmentStatuses) == 0 || !s.write.confirmed(yes, "The rollout begins with its first batch again.") {
		return nil
	}
	if err := s.write.resetBatches(ctx, name); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Batch state reset for Skyhook %q%s\n", name, s.write.dryNote())
	return nil
}

func announceReset(out io.Writer, name string, found []onNode, batches bool) {
	fmt.Fprintf(out, "Skyhook: %s\nNodes to reset (%d):\n", name, len(found))
	for i := range found {
		note := ""
		if f := record.ReadInterrupt(found[i].node.Annotations); f.OwnedBy(name) {
			note = fmt.Sprintf("; its %s is in flight and will run again", f.Type)
		}
		fmt.Fprintf(out, "  - %s (%s%s)\n", found[i].node.Name, text.Count(len(found[i].record.Packages), "package"), note)
	}
	if batches {
		fmt.Fprintln(out, "Batch state will be reset, too; --skip-batch-reset preserves it.")
	}
}

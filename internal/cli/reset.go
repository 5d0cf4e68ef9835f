package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/text"
)

func (a *app) resetCommand() *cobra.Command {
	var yes, skip bool
	c := &cobra.Command{
		Use:   "reset SKYHOOK",
		Short: "Remove the records of all nodes, so that every package is applied again",
		Long: "Removes the nodes' records of a Skyhook, so that every package is applied again on all of them, within the\n" +
			"Skyhook's budget. Nothing is uninstalled. A rollout in batches starts again with its first batch.",
		Example:           "  kubectl skyhook reset gpu-init\n  kubectl skyhook reset gpu-init --skip-batch-reset --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.connect(c)
			if err != nil {
				return err
			}
			return s.reset(c.Context(), args[0], nil, !skip, yes)
		},
	}
	confirmFlag(c, &yes)
	c.Flags().BoolVar(&skip, "skip-batch-reset", false, "leave the batches of the deployment policy as they are")
	return c
}

// reset removes the records of a Skyhook from the nodes that the patterns name, and begins with its first
// batch again.
func (s *session) reset(ctx context.Context, name string, patterns []string, batches, yes bool) error {
	matched, err := s.nodesNamed(ctx, patterns)
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
	s.announceReset(name, found, batches)
	if !s.confirmed(yes, "The packages are applied again on these nodes.") {
		return nil
	}
	nodes := make([]corev1.Node, len(found))
	for i := range found {
		nodes[i] = found[i].node
	}
	done, failed := s.patchEach(ctx, "resetting", nodes, func(n *corev1.Node) (record.Patch, error) {
		return record.Reset(name, n.Annotations, n.Labels), nil
	})
	fmt.Fprintf(s.out, "Successfully reset %d node(s) for Skyhook %q%s\n", done, name, s.dryNote())
	if batches && ctx.Err() == nil {
		if err := s.resetBatches(ctx, name); err != nil {
			return errors.Join(failed, s.unlessGone(name, err))
		}
		fmt.Fprintf(s.out, "Batch state reset for Skyhook %q%s\n", name, s.dryNote())
	}
	return failed
}

// resetOnlyBatches is for a Skyhook that has begun on no node: its rollout may be stopped all the same.
func (s *session) resetOnlyBatches(ctx context.Context, name string, batches, yes bool) error {
	if !batches {
		return nil
	}
	found, err := s.skyhook(ctx, name)
	if err != nil {
		return s.unlessGone(name, err)
	}
	if len(found.Status.CompartmentStatuses) == 0 || !s.confirmed(yes, "The rollout begins with its first batch again.") {
		return nil
	}
	if err := s.resetBatches(ctx, name); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Batch state reset for Skyhook %q%s\n", name, s.dryNote())
	return nil
}

// unlessGone is the error of a read, but for a Skyhook that does not exist: nodes may remember one that is gone.
func (s *session) unlessGone(name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	fmt.Fprintf(s.err, "Warning: there is no Skyhook %q; %s lists those that exist\n", name, s.toCluster("kubectl get skyhooks"))
	return nil
}

func (s *session) nothing(sentence string) error {
	fmt.Fprintln(s.out, sentence)
	return nil
}

func (s *session) announceReset(name string, found []onNode, batches bool) {
	fmt.Fprintf(s.out, "Skyhook: %s\nNodes to reset (%d):\n", name, len(found))
	for i := range found {
		note := ""
		if f := record.ReadInterrupt(found[i].node.Annotations); f.OwnedBy(name) {
			note = fmt.Sprintf("; its %s is in flight and will run again", f.Type)
		}
		fmt.Fprintf(s.out, "  - %s (%s%s)\n", found[i].node.Name, text.Count(len(found[i].record.Packages), "package"), note)
	}
	if batches {
		fmt.Fprintln(s.out, "Batch state will be reset, too; --skip-batch-reset preserves it.")
	}
}

// resetBatches makes a rollout begin with its first batch and its first place again.
func (s *session) resetBatches(ctx context.Context, name string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := s.skyhook(ctx, name)
		if err != nil {
			return err
		}
		before := found.DeepCopy()
		found.Status = rollout.Restart(found.Status)
		whole := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return s.client.Status().Patch(ctx, found, whole, s.dryStatus()...)
	})
	if err != nil {
		return fmt.Errorf("resetting the batch state of skyhook %q: %w", name, err)
	}
	return nil
}

// dryStatus is dry for a status.
func (s *session) dryStatus() []client.SubResourcePatchOption {
	if s.dryRun == dryRunServer {
		return []client.SubResourcePatchOption{client.DryRunAll}
	}
	return nil
}

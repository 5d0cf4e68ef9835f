package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

func (a *app) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "deployment-policy COMMAND",
		Aliases: []string{"dp"},
		Short:   "Show and reset the batches of a rollout",
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine: true,
	}
	c.AddCommand(a.policyShowCommand(), a.policyResetCommand())
	return c
}

func (a *app) policyShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show SKYHOOK",
		Short:             "Show the compartments of a Skyhook and their batches",
		Example:           "  kubectl skyhook deployment-policy show gpu-init\n  kubectl skyhook dp show gpu-init -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.showPolicy(ctx, args[0])
		}),
	}
}

func (s *session) showPolicy(ctx context.Context, name string) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	compartments := found.Status.CompartmentStatuses
	if compartments == nil {
		compartments = map[string]v1alpha1.CompartmentStatus{}
	}
	policy, applied, err := s.read.applied(ctx, found.Spec.DeploymentPolicy)
	if err != nil {
		return err
	}
	value := map[string]any{"skyhookName": name, "deploymentPolicy": policy, "compartments": compartments}
	if applied.Skyhooks > 0 {
		value["deploymentPolicyStatus"] = applied
	}
	r := result{
		value: value, names: []string{v1alpha1.ResourcePrefix + name},
		header: append([]string{"Skyhook: " + name, "Deployment policy: " + policy}, appliedLines(applied)...),
		empty:  fmt.Sprintf("Skyhook %q has no compartment statuses: the operator has not looked at it yet", name),
		columns: []string{
			"COMPARTMENT", "NODES", "COMPLETE", "IN-PROGRESS", "CEILING", "BATCH", "BAD-BATCHES", "STOPPED",
		},
	}
	if s.wide() {
		r.columns = append(r.columns, "STRATEGY", "NEXT-BATCH", "FAILED-NODES")
	}
	for _, c := range slices.Sorted(maps.Keys(compartments)) {
		r.rows = append(r.rows, compartmentRow(c, compartments[c], s.wide()))
	}
	return s.print(r)
}

// applied is the name of a policy and what it applies to. The latter is empty where that cannot be read, or where the
// operator does not write it.
func (r *reader) applied(ctx context.Context, name string) (string, v1alpha1.DeploymentPolicyStatus, error) {
	if name == "" {
		return "none", v1alpha1.DeploymentPolicyStatus{}, nil
	}
	var policy v1alpha1.DeploymentPolicy
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, &policy)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return "", policy.Status, fmt.Errorf("getting deployment policy %q: %w", name, err)
	}
	return name, policy.Status, nil
}

// appliedLines tell who uses a policy, and what is wrong with it.
func appliedLines(applied v1alpha1.DeploymentPolicyStatus) []string {
	if applied.Skyhooks == 0 {
		return nil
	}
	lines := []string{"Used by: " + text.Some(applied.UsedBy[:min(len(applied.UsedBy), text.MostNames)], applied.Skyhooks)}
	for _, c := range applied.Conditions {
		lines = append(lines, c.Type+": "+c.Message)
	}
	return lines
}

func compartmentRow(name string, c v1alpha1.CompartmentStatus, wide bool) []string {
	b := v1alpha1.BatchState{}
	if c.BatchState != nil {
		b = *c.BatchState
	}
	row := []string{
		namedCompartments(name), strconv.Itoa(c.Matched), strconv.Itoa(c.Completed), strconv.Itoa(c.InProgress), strconv.Itoa(c.Ceiling),
		strconv.Itoa(b.CurrentBatch), strconv.Itoa(b.ConsecutiveFailures), strconv.FormatBool(b.ShouldStop),
	}
	if wide {
		row = append(row, dash(c.Strategy), strconv.Itoa(c.NextBatchSize), strconv.Itoa(b.FailedNodes))
	}
	return row
}

func (a *app) policyResetCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:               "reset SKYHOOK",
		Short:             "Start a rollout again with its first batch; continues a stopped one",
		Example:           "  kubectl skyhook deployment-policy reset gpu-init",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.resetPolicy(ctx, args[0], yes)
		}),
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) resetPolicy(ctx context.Context, name string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	compartments := found.Status.CompartmentStatuses
	if len(compartments) == 0 {
		return s.nothing(fmt.Sprintf("Skyhook %q has no compartment statuses to reset", name))
	}
	batched := 0
	var lines []string
	for _, c := range slices.Sorted(maps.Keys(compartments)) {
		if b := compartments[c].BatchState; b != nil {
			batched++
			lines = append(lines, fmt.Sprintf("  - %s: batch %d, %d completed, %d failed",
				c, b.CurrentBatch, b.CompletedNodes, b.FailedNodes))
		}
	}
	fmt.Fprintf(s.out, "Skyhook: %s\nCompartments: %d total, %d with batch state\n", name, len(compartments), batched)
	for _, line := range lines {
		fmt.Fprintln(s.out, line)
	}
	if s.write.dryRun == dryRunClient {
		fmt.Fprintln(s.out,
			"Each becomes: CurrentBatch 1, ConsecutiveFailures 0, CompletedNodes 0, FailedNodes 0, ShouldStop false")
	}
	if !s.write.confirmed(yes, "The rollout begins with its first batch again.") {
		return nil
	}
	if err := s.write.resetBatches(ctx, name); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Successfully reset batch state for Skyhook %q%s\n", name, s.write.dryNote())
	return nil
}

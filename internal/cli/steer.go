package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// steer is a command that sets or removes an annotation of a Skyhook.
type steer struct {
	verb, done string
	annotation string
	// set puts the annotation there; otherwise it is removed.
	set   bool
	short string
	long  string
}

var (
	pause = steer{
		"pause", "paused", v1alpha1.AnnotationPause, true,
		"Start nothing new for a Skyhook; running scripts finish",
		"Pauses a Skyhook: no stage, drain or interrupt begins on any node until it is resumed. Running scripts finish.\n" +
			"Later Skyhooks keep waiting for it. kubectl skyhook stop also ends running scripts.",
	}
	resume = steer{
		"resume", "resumed", v1alpha1.AnnotationPause, false,
		"Continue a paused Skyhook, or all stopped ones",
		"Continues a paused Skyhook or, with --all, what kubectl skyhook stop --all stopped. Skyhooks that were paused one\n" +
			"by one stay paused.",
	}
	disable = steer{
		"disable", "disabled", v1alpha1.AnnotationDisable, true,
		"Take a Skyhook out of the order; what is installed stays",
		"Disables a Skyhook: it starts nothing, and later Skyhooks no longer wait for it. What is installed stays.",
	}
	enable = steer{
		"enable", "enabled", v1alpha1.AnnotationDisable, false,
		"Continue a disabled Skyhook", "Continues a disabled Skyhook.",
	}
)

func (a *app) steerCommand(st steer) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:     st.verb + " SKYHOOK",
		Short:   st.short,
		Long:    st.long,
		Example: fmt.Sprintf("  kubectl skyhook %s gpu-init\n  kubectl skyhook %s gpu-init --yes", st.verb, st.verb),
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.steer(ctx, st, args[0], yes)
		}),
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) steer(ctx context.Context, st steer, name string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	if err := s.read.supports(ctx, found, st); err != nil {
		return err
	}
	if s.write.dryRun == dryRunClient {
		fmt.Fprintf(s.out, "[dry-run] Would %s Skyhook %q\n", st.verb, name)
		return nil
	}
	if !s.write.confirmed(yes, fmt.Sprintf("This will %s Skyhook %q.", st.verb, name)) {
		return nil
	}
	var value any // null removes it
	if st.set {
		value = "true"
	}
	if err := s.write.annotate(ctx, found, st.annotation, value); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q %s%s\n", name, st.done, s.write.dryNote())
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func (a *app) stopCommand() *cobra.Command {
	var (
		yes, all bool
		o        stopAll
	)
	c := &cobra.Command{
		Use:   "stop [SKYHOOK | --all]",
		Short: "Start nothing new for a Skyhook, or for all, and end running scripts",
		Long: "Pauses a Skyhook, or stops all Skyhooks, including those that are created later, and deletes the pods of\n" +
			"running stages, so that their scripts end. A host may be left half changed: the stage runs again after kubectl\n" +
			"skyhook resume. A reboot that a host has begun cannot be cancelled; the command lists such hosts.\n\n" +
			"With --all, the command creates the ConfigMap skyhook-stop in the operator's namespace. If the operator does\n" +
			"not confirm it in time, because it is not running, is slow or its version does not know the ConfigMap, the\n" +
			"command also pauses each Skyhook.",
		Example:           "  kubectl skyhook stop gpu-init\n  kubectl skyhook stop --all --reason INC-7 --yes",
		Args:              oneOrAll(&all),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			if all {
				return s.stopAll(ctx, o, yes)
			}
			return s.stop(ctx, args[0], yes)
		}),
	}
	const patience = 15 * time.Second
	c.Flags().BoolVar(&all, "all", false, "all Skyhooks, including those that are created later")
	c.Flags().StringVar(&o.reason, "reason", "", "with --all: why, shown to everybody who looks at a Skyhook")
	c.Flags().DurationVar(&o.timeout, "timeout", patience, "with --all: how long to wait for the operator to confirm")
	confirmFlag(c, &yes)
	return c
}

// oneOrAll is for commands that want the name of a Skyhook, or --all.
func oneOrAll(all *bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if *all == (len(args) == 1) || len(args) > 1 {
			return fmt.Errorf("%s wants the name of one Skyhook, or --all", c.Name())
		}
		return nil
	}
}

func (s *session) stop(ctx context.Context, name string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	mine := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, found) }
	running, err := s.read.packagePods(ctx, mine)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook to pause: %s\n", name)
	announcePods(s.out, running)
	if !s.write.confirmed(yes, "Nothing new starts, and running scripts are ended.") {
		return nil
	}
	if err := s.write.annotate(ctx, found, v1alpha1.AnnotationPause, "true"); err != nil {
		return err
	}
	ended, err := s.write.endAll(ctx, mine)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Paused 1 Skyhook, ended %s%s\n", text.Count(ended, "pod"), s.write.dryNote())
	return s.write.beyondRecall(ctx, func(_, owner string) bool { return owner == name })
}

// until looks again and again until that is done or fails, or there was enough time.
func until(ctx context.Context, patience time.Duration, look func() (done bool, err error)) error {
	const pause = 200 * time.Millisecond
	enough := time.Now().Add(patience)
	for {
		if done, err := look(); done || err != nil || !time.Now().Before(enough) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func announcePods(out io.Writer, pods []corev1.Pod) {
	if len(pods) == 0 {
		fmt.Fprintln(out, "No stage runs.")
		return
	}
	fmt.Fprintf(out, "Stages to end (%d):\n", len(pods))
	for i := range pods {
		seen, err := workload.Observe(&pods[i])
		if err != nil {
			seen = lifecycle.Pod{Package: "?"}
		}
		fmt.Fprintf(out, "  - %s: %s of %s %s (pod %s)\n", pods[i].Spec.NodeName, seen.Stage, seen.Package, seen.Version, pods[i].Name)
	}
}

// excludeCommand is node exclude.
func (a *app) excludeCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "exclude NODE...",
		Short: "Exclude nodes from all Skyhooks, and end running scripts",
		Long: "Excludes nodes from all Skyhooks, and deletes the pods of the stages that run there. The operator then lifts\n" +
			"its cordon and gives their permits to other nodes. A host may be left half changed; kubectl skyhook node\n" +
			"include lets the stage run again.",
		Example:           "  kubectl skyhook node exclude worker-1\n  kubectl skyhook node exclude 'rack-7-.*' --yes",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.exclude(ctx, args, yes)
		}),
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) exclude(ctx context.Context, patterns []string, yes bool) error {
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	if len(matched) == 0 {
		return fmt.Errorf("no nodes matched the specified patterns; %s lists those that exist", s.toCluster("kubectl get nodes"))
	}
	var names []string
	for i := range matched {
		names = append(names, matched[i].Name)
	}
	there := func(p *corev1.Pod) bool { return slices.Contains(names, p.Spec.NodeName) }
	running, err := s.read.packagePods(ctx, there)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Nodes to exclude: %s\n", strings.Join(names, ", "))
	announcePods(s.out, running)
	if !s.write.confirmed(yes, "Running scripts are ended.") {
		return nil
	}
	change := ignoreChange(true)
	done, failed := s.write.patchNodes(ctx, "changing", matched, func(n *corev1.Node) (record.Patch, error) { return change(n), nil })
	ended, err := s.write.endAll(ctx, there)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Excluded %s, ended %s%s\n", text.Count(done, "node"), text.Count(ended, "pod"), s.write.dryNote())
	return s.write.beyondRecall(ctx, func(node, _ string) bool { return slices.Contains(names, node) })
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
)

func (a *app) uninstallCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "uninstall SKYHOOK PACKAGE",
		Short: "Uninstall a package from all nodes; it stays in the Skyhook",
		Long: "Sets uninstall.apply of a package, after showing the consequences: the package is uninstalled from every node,\n" +
			"within the Skyhook's budget, with the configMap and env that it was installed with. To install it again, set\n" +
			"the field to false.",
		Example:           "  kubectl skyhook uninstall gpu-init tuning\n  kubectl skyhook uninstall gpu-init tuning --dry-run",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeSkyhookThenPackage,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.uninstall(ctx, args[0], args[1], yes)
		}),
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) uninstall(ctx context.Context, name, pkg string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	p, ok := found.Spec.Packages[pkg]
	if !ok {
		return fmt.Errorf("package %q not found in skyhook %q; it has %s", pkg, name, packageList(found))
	}
	if p.Uninstall == nil || p.Uninstall.Enabled == nil || !*p.Uninstall.Enabled {
		return fmt.Errorf("package %q cannot be uninstalled, because its uninstall.enabled is not true; if its image can do it, set spec.packages.%s.uninstall.enabled: true first", pkg, pkg)
	}
	after := found.DeepCopy()
	p.Uninstall = p.Uninstall.DeepCopy()
	p.Uninstall.Apply = true
	after.Spec.Packages[pkg] = p
	after.Generation++
	if err := s.foretell(ctx, found, after); err != nil {
		return err
	}
	if !s.write.confirmed(yes, fmt.Sprintf("This will uninstall package %q of Skyhook %q.", pkg, name)) {
		return nil
	}
	err = s.write.changeSkyhook(ctx, found, func(*v1alpha1.Skyhook) map[string]any {
		return map[string]any{"spec": map[string]any{"packages": map[string]any{
			pkg: map[string]any{"uninstall": map[string]any{"apply": true}},
		}}}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Package %q of Skyhook %q is being uninstalled%s; %s shows how far it is\n", pkg, name, s.write.dryNote(),
		s.toCluster("kubectl skyhook status "+name))
	return nil
}

// foretell shows what a change of a Skyhook leads to.
func (s *session) foretell(ctx context.Context, shown, after *v1alpha1.Skyhook) error {
	v, err := s.read.look(ctx, "")
	if err != nil {
		return err
	}
	answer := foreseen{Unread: v.unread, Blocked: []cause{}}
	if changes := v.replaceSkyhook(after); after.Generation != shown.Generation {
		answer.Changes = changes
	}
	now := s.now()
	f, err := forecast.Run(v.Snapshot, v.ahead(now, farAhead))
	if err != nil {
		return err
	}
	s.explain.tell(&answer, v, f, map[string]bool{after.Name: true})
	v.caution(s.err)
	return s.printPlan(answer, now)
}

func (a *app) resumeRolloutCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:               "resume-rollout SKYHOOK",
		Short:             "Continue a rollout that bad batches stopped, after showing the consequences",
		Example:           "  kubectl skyhook resume-rollout gpu-init",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.resumeRollout(ctx, args[0], yes)
		}),
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) resumeRollout(ctx context.Context, name string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	var stopped []string
	for c, st := range found.Status.CompartmentStatuses {
		if st.BatchState != nil && st.BatchState.ShouldStop {
			stopped = append(stopped, c)
		}
	}
	if len(stopped) == 0 {
		return s.nothing(fmt.Sprintf("Nothing is stopped in Skyhook %q; %s says what it waits for", name, s.toCluster("kubectl skyhook why "+name)))
	}
	slices.Sort(stopped)
	now := s.now().UTC().Format(time.RFC3339)
	after := found.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[v1alpha1.AnnotationResume] = now
	if err := s.foretell(ctx, found, after); err != nil {
		return err
	}
	if !s.write.confirmed(yes, fmt.Sprintf("This will continue Skyhook %q in %s.", name, compartments(stopped))) {
		return nil
	}
	if err := s.write.annotate(ctx, found, v1alpha1.AnnotationResume, now); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q continues%s\n", name, s.write.dryNote())
	return nil
}

func compartments(names []string) string {
	all := namedCompartments(strings.Join(names, ", "))
	if len(names) == 1 {
		return "compartment " + all
	}
	return "compartments " + all
}

func (a *app) abandonCommand() *cobra.Command {
	var (
		yes, revert bool
		nodes       []string
	)
	c := &cobra.Command{
		Use:   "abandon SKYHOOK --node NODE",
		Short: "Stop uninstalling on nodes; what is installed there stays",
		Long: "Leaves the packages of a Skyhook on nodes where they cannot be uninstalled, so that the deletion of the\n" +
			"Skyhook or the removal of a package can end. What is on those hosts stays there, and nothing uninstalls it\n" +
			"later, until --revert ends that: on all nodes, or on those that --node names.",
		Example: "  kubectl skyhook abandon gpu-init --node worker-7\n" +
			"  kubectl skyhook abandon gpu-init --revert",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			switch {
			case revert:
				return s.revertAbandon(ctx, args[0], nodes, yes)
			case len(nodes) == 0:
				return errNoNode
			}
			return s.abandon(ctx, args[0], nodes, yes)
		}),
	}
	a.nodeFlag(c, &nodes)
	c.Flags().BoolVar(&revert, "revert", false, "uninstall there again what the spec asks for")
	confirmFlag(c, &yes)
	return c
}

func (s *session) abandon(ctx context.Context, name string, patterns []string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	having := s.read.having(matched, name)
	if len(having) == 0 {
		return fmt.Errorf("none of these nodes has packages of Skyhook %q; %s lists those that do", name,
			s.toCluster("kubectl skyhook node list --skyhook "+name))
	}
	fmt.Fprintf(s.out, "Packages that stay on their nodes:\n")
	for i := range having {
		var names []string
		for _, e := range having[i].entries() {
			names = append(names, e.Name+" "+e.Version)
		}
		fmt.Fprintf(s.out, "  - %s: %s\n", having[i].node.Name, strings.Join(names, ", "))
	}
	if !s.write.confirmed(yes, "Skyhook "+name+" will not uninstall anything there any more.") {
		return nil
	}
	err = s.write.changeSkyhook(ctx, found, func(now *v1alpha1.Skyhook) map[string]any {
		isSeparator := func(r rune) bool { return r == ',' || r == ' ' }
		nodes := strings.FieldsFunc(now.Annotations[v1alpha1.AnnotationAbandonUninstall], isSeparator)
		for i := range having {
			if !slices.Contains(nodes, having[i].node.Name) {
				nodes = append(nodes, having[i].node.Name)
			}
		}
		list := map[string]any{v1alpha1.AnnotationAbandonUninstall: strings.Join(nodes, ",")}
		return map[string]any{"metadata": map[string]any{"annotations": list}}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q no longer uninstalls anything on %d node(s)%s\n", name, len(having), s.write.dryNote())
	return nil
}

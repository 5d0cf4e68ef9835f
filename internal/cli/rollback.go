package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/version"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func (a *app) rollbackCommand() *cobra.Command {
	var (
		yes bool
		to  []string
	)
	c := &cobra.Command{
		Use:   "rollback SKYHOOK [--to REVISION]",
		Short: "Go back to the definitions of packages before the last change",
		Long: "Puts retained definitions of packages back into the spec, after showing the consequences. These are the\n" +
			"definitions from before the last change, or the REVISIONs from kubectl skyhook history, one for each package.\n" +
			"A second rollback takes the first one back. Settings of the Skyhook itself, such as its budget, stay as they\n" +
			"are. If a tool applies the manifest from elsewhere, revert the change there as well.",
		Example:           "  kubectl skyhook rollback gpu-init\n  kubectl skyhook rollback gpu-init --to 0f0f345055 --dry-run",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.rollback(ctx, args[0], to, yes)
		}),
	}
	c.Flags().StringSliceVar(&to, "to", nil, "the `REVISION` of a package to go back to; may be repeated, for other packages")
	_ = c.RegisterFlagCompletionFunc("to", a.completeRevisions) // fails for a flag that is not there only
	confirmFlag(c, &yes)
	return c
}

// completeRevisions offers what is retained of the Skyhook that is named.
func (a *app) completeRevisions(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(c, typed, func(ctx context.Context, s *session) []string {
		found, err := s.read.skyhook(ctx, args[0])
		if err != nil {
			return nil
		}
		list, _ := s.read.retained(ctx, found)
		var names []string
		for _, d := range list {
			if !d.Current {
				names = append(names, d.Revision)
			}
		}
		return names
	})
}

func (s *session) rollback(ctx context.Context, name string, to []string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	list, err := s.read.retained(ctx, found)
	if err != nil {
		return err
	}
	chosen, err := chosenOf(found, list, to)
	if err != nil {
		return fmt.Errorf("%w; of Skyhook %q are retained: %s", err, name, choices(list))
	}
	after := found.DeepCopy()
	if after.Spec.Packages == nil {
		after.Spec.Packages = map[string]v1alpha1.Package{}
	}
	for _, d := range chosen {
		d.Spec.Name = found.Spec.Packages[d.Package].Name // the key says it, too
		after.Spec.Packages[d.Package] = d.Spec
	}
	// What the API server would store says what follows, also that it refuses it.
	stored, change := after.DeepCopy(), client.MergeFrom(found)
	if err := s.read.client.Patch(ctx, stored, change, client.DryRunAll); err != nil {
		return fmt.Errorf("the API server refuses that: %w", err)
	}
	if err := s.foretell(ctx, found, stored); err != nil {
		return err
	}
	tellLimits(s.out, found, list, chosen)
	if !s.write.confirmed(yes, fmt.Sprintf("This will change the spec of Skyhook %q.", name)) {
		return nil
	}
	body, err := change.Data(after)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	if err := s.write.changeSkyhook(ctx, found, func(*v1alpha1.Skyhook) map[string]any { return fields }); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q goes back to %s%s; %s shows how far it is\n",
		name, choices(chosen), s.write.dryNote(), s.toCluster("kubectl skyhook status "+name))
	return nil
}

// choices names definitions.
func choices(list []retained) string {
	var all []string
	for _, d := range list {
		text := fmt.Sprintf("%s %s (%s)", d.Package, d.Version, d.Revision)
		if d.Current {
			text += " in the spec"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "no definitions"
	}
	return strings.Join(all, ", ")
}

// chosenOf are the definitions to go back to: those that are named, else those before the last change.
func chosenOf(s *v1alpha1.Skyhook, list []retained, to []string) ([]retained, error) {
	if len(to) == 0 {
		return beforeLast(s, list)
	}
	var chosen []retained
	for _, revision := range to {
		i := slices.IndexFunc(list, func(d retained) bool { return d.Revision == revision })
		switch {
		case i < 0:
			return nil, fmt.Errorf("revision %s is not retained", revision)
		case list[i].Current:
			return nil, fmt.Errorf("revision %s of package %s is in the spec already", revision, list[i].Package)
		case slices.ContainsFunc(chosen, func(d retained) bool { return d.Package == list[i].Package }):
			return nil, fmt.Errorf("two revisions of package %s are named", list[i].Package)
		}
		chosen = append(chosen, list[i])
	}
	return chosen, nil
}

// beforeLast are the definitions that the last change of the spec replaced: of the packages whose definition in the spec
// is the newest, the one before it.
func beforeLast(s *v1alpha1.Skyhook, list []retained) ([]retained, error) {
	current, last := generations(s, list)
	var chosen []retained
	for _, pkg := range slices.Sorted(maps.Keys(current)) {
		if current[pkg] != last {
			continue
		}
		var before *retained
		for i := range list {
			d := &list[i]
			earlier := d.Package == pkg && d.Generation < last && !d.isOf(s)
			if earlier && (before == nil || d.Generation > before.Generation) {
				before = d
			}
		}
		if before != nil {
			chosen = append(chosen, *before)
		}
	}
	for i := range list {
		if _, inSpec := s.Spec.Packages[list[i].Package]; !inSpec && s.Generation > last {
			return nil, fmt.Errorf("the last change may have removed package %s; name with --to what to go back to", list[i].Package)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no definition from before the last change is retained; name another with --to")
	}
	return chosen, nil
}

// generations are those of the definitions in the spec, by package, and the last of them. What the operator has not
// retained, be it because it has not seen it or because the spec is invalid, is newer than all that it has.
func generations(s *v1alpha1.Skyhook, list []retained) (current map[string]int64, last int64) {
	current, last = map[string]int64{}, s.Generation
	for _, d := range list {
		last = max(last, d.Generation+1)
	}
	for pkg := range s.Spec.Packages {
		current[pkg] = last
	}
	last = 0
	for _, d := range list { // of a package by generation
		if d.isOf(s) {
			current[d.Package] = d.Generation
		}
	}
	for _, generation := range current {
		last = max(last, generation)
	}
	return current, last
}

// isOf reports whether a definition says what the spec says. What its image tells of uninstalling may differ: an operator
// finds out later.
func (d *retained) isOf(s *v1alpha1.Skyhook) bool {
	_, inSpec := s.Spec.Packages[d.Package]
	return inSpec && (d.Current || equality.Semantic.DeepEqual(d.Spec, workload.DefinitionOf(s, d.Package).Spec))
}

// tellLimits says what going back does not undo.
func tellLimits(out io.Writer, found *v1alpha1.Skyhook, list, chosen []retained) {
	for _, d := range chosen {
		now, inSpec := found.Spec.Packages[d.Package]
		if !inSpec || !version.Older(d.Version, now.Version) {
			continue
		}
		undoes := slices.ContainsFunc(list, func(c retained) bool { return c.Package == d.Package && c.Current && c.uninstallable })
		if !undoes {
			fmt.Fprintf(out, "Package %s cannot be uninstalled: what %s left on hosts stays there, and %s is applied over it.\n",
				d.Package, now.Version, d.Version)
		}
	}
}

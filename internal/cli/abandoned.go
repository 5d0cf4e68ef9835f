package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// abandonedBy are the nodes on which nothing of a Skyhook is uninstalled any more.
func abandonedBy(sk *v1alpha1.Skyhook) []string {
	return slices.Sorted(maps.Keys(admission.Abandoned(sk)))
}

// abandonedNote says on how many nodes that is, and how it ends; empty for none.
func (t target) abandonedNote(sk *v1alpha1.Skyhook) string {
	nodes := abandonedBy(sk)
	if len(nodes) == 0 {
		return ""
	}
	return fmt.Sprintf("nothing is uninstalled on %s (%s), where it was abandoned; %s ends that",
		text.Count(len(nodes), "node"), text.First(nodes, fewNodes), t.toCluster("kubectl skyhook abandon "+sk.Name+" --revert"))
}

// revertAbandon has a Skyhook uninstall again on nodes: on those that the patterns name, or on all without any.
func (s *session) revertAbandon(ctx context.Context, name string, patterns []string, yes bool) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	back, err := s.abandonedAmong(ctx, found, patterns)
	if err != nil {
		return err
	}
	if len(back) == 0 {
		return s.nothing(fmt.Sprintf("Skyhook %q abandons nothing there", name))
	}
	after := found.DeepCopy()
	withoutAbandoned(after, back)
	if err := s.foretell(ctx, found, after); err != nil {
		return err
	}
	if !s.write.confirmed(yes, fmt.Sprintf("Skyhook %s uninstalls again what its spec asks for, on %s.", name, text.Nodes(back))) {
		return nil
	}
	err = s.write.changeSkyhook(ctx, found, func(now *v1alpha1.Skyhook) map[string]any {
		changed := now.DeepCopy()
		withoutAbandoned(changed, back)
		var value any // nil removes it
		if left, there := changed.Annotations[v1alpha1.AnnotationAbandonUninstall]; there {
			value = left
		}
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationAbandonUninstall: value}}}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q uninstalls again on %d node(s)%s\n", name, len(back), s.write.dryNote())
	return nil
}

// abandonedAmong are the abandoned nodes that patterns name. One that is gone is known by its name alone.
func (s *session) abandonedAmong(ctx context.Context, sk *v1alpha1.Skyhook, patterns []string) ([]string, error) {
	all := abandonedBy(sk)
	if len(patterns) == 0 {
		return all, nil
	}
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(patterns)
	for i := range matched {
		named = append(named, matched[i].Name)
	}
	return slices.DeleteFunc(all, func(node string) bool { return !slices.Contains(named, node) }), nil
}

// withoutAbandoned takes nodes off the list of those on which a Skyhook uninstalls nothing.
func withoutAbandoned(sk *v1alpha1.Skyhook, back []string) {
	left := slices.DeleteFunc(abandonedBy(sk), func(node string) bool { return slices.Contains(back, node) })
	if len(left) == 0 {
		delete(sk.Annotations, v1alpha1.AnnotationAbandonUninstall)
		return
	}
	sk.Annotations[v1alpha1.AnnotationAbandonUninstall] = strings.Join(left, ",")
}

// errNoNode is what cobra says of a flag that is required.
var errNoNode = errors.New(`required flag(s) "node" not set`)

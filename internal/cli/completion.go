package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// completionPatience is how long a person waits for the shell.
const completionPatience = 3 * time.Second

// complete answers the shell with what can be read; with nothing when the cluster does not answer.
func (a *app) complete(
	c *cobra.Command, typed string, names func(ctx context.Context, s *session) []string,
) ([]string, cobra.ShellCompDirective) {
	s, err := a.connect(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	parent := c.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionPatience)
	defer cancel()
	found := slices.DeleteFunc(names(ctx, s), func(name string) bool { return !strings.HasPrefix(name, typed) })
	slices.Sort(found)
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeSkyhooks(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.complete(c, typed, func(ctx context.Context, s *session) []string {
		return s.read.namesOf(ctx, v1alpha1.GroupVersion.WithKind("SkyhookList").Kind)
	})
}

func (a *app) completeNodes(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.complete(c, typed, func(ctx context.Context, s *session) []string { return s.read.namesOf(ctx, "NodeList") })
}

// completePackages offers the packages of the Skyhook that --skyhook names.
func (a *app) completePackages(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completePackagesOf(c, c.Flag("skyhook").Value.String(), typed)
}

func (a *app) completePackagesOf(c *cobra.Command, skyhook, typed string) ([]string, cobra.ShellCompDirective) {
	return a.complete(c, typed, func(ctx context.Context, s *session) []string {
		found, err := s.read.skyhook(ctx, skyhook)
		if err != nil {
			return nil
		}
		return slices.Collect(maps.Keys(found.Spec.Packages))
	})
}

// completeSkyhookThenPackage offers Skyhooks, and behind one its packages.
func (a *app) completeSkyhookThenPackage(
	c *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeSkyhooks(c, args, typed)
	case 1:
		return a.completePackagesOf(c, args[0], typed)
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

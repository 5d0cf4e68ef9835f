package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		return s.namesOf(ctx, v1alpha1.GroupVersion.WithKind("SkyhookList").Kind)
	})
}

func (a *app) completeNodes(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.complete(c, typed, func(ctx context.Context, s *session) []string { return s.namesOf(ctx, "NodeList") })
}

// namesOf lists names without the rest of the objects.
func (s *session) namesOf(ctx context.Context, kind string) []string {
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if kind == "SkyhookList" {
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	}
	if s.client.List(ctx, &list, client.Limit(pageSize)) != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// completePackages offers the packages of the Skyhook that --skyhook names.
func (a *app) completePackages(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(c, typed, func(ctx context.Context, s *session) []string {
		found, err := s.skyhook(ctx, c.Flag("skyhook").Value.String())
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
		return a.complete(c, typed, func(ctx context.Context, s *session) []string {
			found, err := s.skyhook(ctx, args[0])
			if err != nil {
				return nil
			}
			return slices.Collect(maps.Keys(found.Spec.Packages))
		})
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

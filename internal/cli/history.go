package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history SKYHOOK",
		Short: "List the last rollouts, and the retained definitions of packages",
		Long: "Lists the last twenty rollouts: the generation of the spec, the program that changed it, when the rollout\n" +
			"began, how long it took, how many nodes it included, how many of them failed, and what changed. It then lists the\n" +
			"definitions that the operator retains for an uninstall or a rollback: those that the spec or a node has, and\n" +
			"the last five others. For each it says what changed since the one before, and how many nodes have it. The wide\n" +
			"output also lists how long stages took.",
		Example:           "  kubectl skyhook history gpu-init\n  kubectl skyhook history gpu-init -o yaml",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.history(ctx, args[0])
		}),
	}
}

// retained is one definition of a package.
type retained struct {
	Package  string `json:"package"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	// Generation of the Skyhook that asked for it, at least.
	Generation int64            `json:"generation"`
	Since      metav1.Time      `json:"since"`
	Nodes      int              `json:"nodes"`
	Current    bool             `json:"current"`
	Changes    []string         `json:"changes,omitempty"`
	Spec       v1alpha1.Package `json:"definition"`
	// object is the name of the ControllerRevision.
	object string
	// uninstallable says that it can be uninstalled, by its spec or its image.
	uninstallable bool
}

func (s *session) history(ctx context.Context, name string) error {
	found, err := s.read.skyhook(ctx, name)
	if err != nil {
		return err
	}
	nodes, err := s.read.nodes(ctx)
	if err != nil {
		return err
	}
	on := map[string]int{}
	for _, o := range s.read.having(nodes, name) {
		for _, e := range o.record.Packages {
			if !e.Superseded {
				on[e.Definition]++
			}
		}
	}
	list, err := s.read.retained(ctx, found)
	if err != nil {
		return err
	}
	past, err := s.read.past(ctx, found)
	if err != nil {
		return err
	}
	r := result{
		header: []string{"Definitions:"}, empty: "No definitions are retained",
		columns: []string{"PACKAGE", "VERSION", "REVISION", "GENERATION", "AGE", "NODES", "IN-SPEC", "CHANGED"},
	}
	for i := range list {
		d := &list[i]
		d.Nodes = on[d.Revision]
		if i > 0 && list[i-1].Package == d.Package {
			d.Changes = packageChanges(d.Package, list[i-1].Spec, d.Spec)
		}
		changed := "-"
		if len(d.Changes) > 0 {
			changed = strings.Join(d.Changes, "; ")
		}
		r.rows = append(r.rows, []string{
			d.Package, d.Version, d.Revision, strconv.FormatInt(d.Generation, 10),
			ago(s.now(), d.Since.Time), strconv.Itoa(d.Nodes), strconv.FormatBool(d.Current), changed,
		})
		r.names = append(r.names, "controllerrevision.apps/"+d.object)
	}
	past.Definitions = list
	past.join()
	r.value = past
	if s.tables() {
		if err := s.printPast(name, past, s.now()); err != nil {
			return err
		}
	}
	return s.print(r)
}

// retained reads the definitions of a Skyhook, by package and generation.
func (r *reader) retained(ctx context.Context, sk *v1alpha1.Skyhook) ([]retained, error) {
	var revisions appsv1.ControllerRevisionList
	of := client.MatchingLabels{v1alpha1.LabelName: sk.Name}
	err := r.client.List(ctx, &revisions, client.InNamespace(r.namespace), of)
	if err != nil {
		return nil, fmt.Errorf("listing controller revisions in namespace %q: %w", r.namespace, err)
	}
	return retainedAmong(revisions.Items, sk, func(err error) { fmt.Fprintf(r.err, "Warning: %v\n", err) }), nil
}

// retainedAmong are the definitions of a Skyhook among revisions. What cannot be read is told, and left out.
func retainedAmong(revisions []appsv1.ControllerRevision, sk *v1alpha1.Skyhook, tell func(error)) []retained {
	list := []retained{}
	for i := range revisions {
		rev := &revisions[i]
		if _, pin := rev.Labels[v1alpha1.LabelPin]; pin || !metav1.IsControlledBy(rev, sk) {
			continue
		}
		d, name, err := workload.ReadRevision(rev)
		if err != nil {
			tell(err)
			continue
		}
		_, inSpec := sk.Spec.Packages[d.Package]
		list = append(list, retained{
			Package: d.Package, Version: d.Spec.Version, Revision: name, object: rev.Name, Generation: rev.Revision, Since: rev.CreationTimestamp,
			uninstallable: d.Enabled,
			Current:       inSpec && workload.DefinitionOf(sk, d.Package).Hash() == name, Spec: d.Spec,
		})
	}
	slices.SortFunc(list, func(a, b retained) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Generation, b.Generation), a.Since.Compare(b.Since.Time), cmp.Compare(a.Revision, b.Revision))
	})
	return list
}

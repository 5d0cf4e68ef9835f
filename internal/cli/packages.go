package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func (a *app) packageStatusCommand() *cobra.Command {
	var (
		skyhook string
		nodes   []string
	)
	c := &cobra.Command{
		Use:   "status PACKAGE",
		Short: "Show the state of a package on all nodes",
		Example: "  kubectl skyhook package status driver --skyhook gpu-init\n" +
			"  kubectl skyhook package status driver --skyhook gpu-init --node 'gpu-.*' -o wide",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePackages,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.packageStatus(ctx, skyhook, args[0], nodes)
		}),
	}
	a.skyhookFlag(c, &skyhook, true)
	a.nodeFlag(c, &nodes)
	return c
}

// nodeFlag adds --node, which may be given several times.
func (a *app) nodeFlag(c *cobra.Command, nodes *[]string) {
	c.Flags().StringArrayVar(nodes, "node", nil, "the `NODE`, by name or regular expression; may be repeated")
	_ = c.RegisterFlagCompletionFunc("node", a.completeNodes) // fails for a flag that is not there only
}

// packageOnNode is one row of package status.
type packageOnNode struct {
	v1alpha1.PackageStatus
	NodeName string `json:"nodeName"`
}

func (s *session) packageStatus(ctx context.Context, skyhook, name string, patterns []string) error {
	found, err := s.read.skyhook(ctx, skyhook)
	if err != nil {
		return err
	}
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	list := []packageOnNode{}
	r := result{
		columns: []string{"NODE", "PACKAGE", "VERSION", "STAGE", "STATE"},
		empty:   fmt.Sprintf("No package status found for skyhook %q", skyhook),
	}
	if s.wide() {
		r.columns = append(r.columns, "RESTARTS", "IMAGE")
	}
	for _, o := range s.read.having(matched, skyhook) {
		for _, e := range o.entries() {
			if e.Name != name {
				continue
			}
			row := []string{o.node.Name, e.Name, e.Version, string(e.Stage), string(e.State)}
			if s.wide() {
				row = append(row, strconv.Itoa(int(e.Restarts)), e.Image)
			}
			list = append(list, packageOnNode{statusOfEntry(e), o.node.Name})
			r.rows, r.names = append(r.rows, row), append(r.names, "node/"+o.node.Name)
		}
	}
	r.value = list
	if len(list) > 0 {
		r.header = []string{"Skyhook: " + skyhook, "Packages: " + packageList(found)}
	}
	return s.print(r)
}

func statusOfEntry(e record.Entry) v1alpha1.PackageStatus {
	return v1alpha1.PackageStatus{
		Name: e.Name, Version: e.Version, Image: e.Image, ContainerSHA: e.ContainerSHA,
		Stage: e.Stage, State: e.State, Restarts: e.Restarts, Superseded: e.Superseded,
	}
}

func packageList(s *v1alpha1.Skyhook) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		list = append(list, name+":"+s.Spec.Packages[name].Version)
	}
	return strings.Join(list, ", ")
}

// rerunStages are the stages that a package can be run again from.
var rerunStages = []string{
	string(v1alpha1.StageApply), string(v1alpha1.StageConfig), string(v1alpha1.StageInterrupt),
	string(v1alpha1.StagePostInterrupt),
}

type rerun struct {
	skyhook, stage string
	nodes          []string
	yes            bool
}

func (a *app) rerunCommand() *cobra.Command {
	var o rerun
	c := &cobra.Command{
		Use:   "rerun PACKAGE",
		Short: "Run a package again on nodes, from the beginning or from a stage",
		Long: "Runs a package again on nodes, from the beginning or from a stage, after saying which of them are drained and\n" +
			"rebooted for that, and which pods are evicted.",
		Example: "  kubectl skyhook package rerun driver --skyhook gpu-init --node worker-1\n" +
			"  kubectl skyhook package rerun driver --skyhook gpu-init --node worker-1 --stage config --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePackages,
		RunE: func(c *cobra.Command, args []string) error {
			if o.stage != "" && !slices.Contains(rerunStages, o.stage) {
				return fmt.Errorf("invalid stage %q: must be one of %s", o.stage, strings.Join(rerunStages, ", "))
			}
			s, err := a.connect(c)
			if err != nil {
				return err
			}
			return s.rerun(c.Context(), args[0], o)
		},
	}
	a.skyhookFlag(c, &o.skyhook, true)
	a.nodeFlag(c, &o.nodes)
	_ = c.MarkFlagRequired("node")
	c.Flags().StringVar(&o.stage, "stage", "", "the `STAGE` to run again from: "+strings.Join(rerunStages, ", "))
	_ = c.RegisterFlagCompletionFunc("stage", cobra.FixedCompletions(rerunStages, cobra.ShellCompDirectiveNoFileComp))
	confirmFlag(c, &o.yes)
	return c
}

func (s *session) rerun(ctx context.Context, name string, o rerun) error {
	found, err := s.read.skyhook(ctx, o.skyhook)
	if err != nil {
		return err
	}
	pkg, ok := found.Spec.Packages[name]
	if !ok {
		return fmt.Errorf("package %q not found in skyhook %q; it has %s", name, o.skyhook, packageList(found))
	}
	matched, err := s.read.nodesNamed(ctx, o.nodes)
	if err != nil {
		return err
	}
	if len(matched) == 0 {
		return s.nothing("No nodes matched the specified patterns")
	}
	key := record.Key(name, pkg.Version)
	if strings.HasSuffix(o.stage, string(v1alpha1.StageInterrupt)) && !interrupts(pkg) {
		return fmt.Errorf("package %q has no interrupt to run again; use --stage config, or leave --stage out", name)
	}
	having := slices.DeleteFunc(s.read.having(matched, o.skyhook), func(n onNode) bool {
		_, has := n.record.Packages[key]
		return !has
	})
	if len(having) == 0 {
		return s.nothing(fmt.Sprintf("Package %q (version %s) has no state on matched nodes", name, pkg.Version))
	}
	change := func(n *corev1.Node) (record.Patch, error) { return rerunChange(found, n, key, v1alpha1.Stage(o.stage)) }
	announceRerun(s.out, o, name, pkg.Version, having)
	s.tellConsequences(ctx, o.skyhook, having, change, false)
	question := "The package runs again from the beginning."
	if o.stage != "" {
		question = fmt.Sprintf("The package runs again from the '%s' stage.", o.stage)
	}
	if !s.write.confirmed(o.yes, question) {
		return nil
	}
	nodes := make([]corev1.Node, len(having))
	for i := range having {
		nodes[i] = having[i].node
	}
	done, failed := s.write.patchNodes(ctx, "updating", nodes, change)
	fmt.Fprintf(s.out, "Successfully reset package %q on %d node(s)%s\n", name, done, s.write.dryNote())
	return failed
}

func interrupts(pkg v1alpha1.Package) bool {
	return pkg.Interrupt != nil || len(pkg.ConfigInterrupts) > 0
}

func announceRerun(out io.Writer, o rerun, name, version string, nodes []onNode) {
	fmt.Fprintf(out, "Package: %s (version %s)\nSkyhook: %s\n", name, version, o.skyhook)
	if o.stage != "" {
		fmt.Fprintf(out, "Re-run from stage: %s\n", o.stage)
	}
	fmt.Fprintf(out, "Nodes to reset (%d):\n", len(nodes))
	for i := range nodes {
		e := nodes[i].record.Packages[record.Key(name, version)]
		fmt.Fprintf(out, "  - %s (current state: %s, stage: %s)\n", nodes[i].node.Name, e.State, e.Stage)
	}
}

// rerunChange makes a node's record ask for another run. A record that workloads wait for stays sealed: who may write
// the label may decide about it.
func rerunChange(s *v1alpha1.Skyhook, n *corev1.Node, key string, stage v1alpha1.Stage) (record.Patch, error) {
	if f := record.ReadInterrupt(n.Annotations); f.OwnedBy(s.Name) && slices.Contains(f.Packages, key) {
		return record.Patch{}, fmt.Errorf("its %s is in flight; run the command again when that is done", f.Type)
	}
	if r, err := record.Read(s.Name, n.Annotations); err == nil && record.IsUninstall(r.Packages[key].Stage) {
		return record.Patch{}, errors.New("it is being uninstalled, and only an edit of the spec retries that: a rerun would forget it, and leave it on the host")
	}
	p, err := record.Rerun(s.Name, key, stage, n.Annotations)
	if err != nil || p.Empty() {
		return p, err
	}
	if seal := state.SealOf(s, n); seal.Holds(n.Annotations, n.Labels) {
		seal.Apply(&p, n.Annotations, n.Labels)
	}
	return p, nil
}

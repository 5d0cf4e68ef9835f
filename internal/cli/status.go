package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/forecast"
)

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status [SKYHOOK]",
		Short: "Show the progress of Skyhooks, by compartment, status and reason",
		Long: "Shows a bar for each compartment of a Skyhook, the number of nodes by status, and what the waiting nodes wait\n" +
			"for. For a single Skyhook, it also shows the time left. --watch redraws this every second until the Skyhook is\n" +
			"complete; if the output is not a terminal, it prints the status again whenever it changes. NO_COLOR=1 turns\n" +
			"colours off. The command warns of an edit that the operator has not planned yet; and of an operator of which no\n" +
			"replica is ready or leads, if you may list Deployments and get Leases in its namespace.",
		Example:           "  kubectl skyhook status\n  kubectl skyhook status gpu-init --watch",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.status(ctx, strings.Join(args, ""), watch)
		}),
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "redraw until everything is complete")
	return c
}

// rolloutStatus is how far one Skyhook is.
type rolloutStatus struct {
	board.Rollout
	// rate is how many nodes a minute become complete; zero where that was not watched.
	rate float64
	// unplanned says that the status is of an older spec; empty if it is not.
	unplanned string
	// abandoned says where nothing is uninstalled any more.
	abandoned string
}

// rolloutOf reads it from the status. One that was complete is not any more after an edit.
func rolloutOf(sk *v1alpha1.Skyhook) rolloutStatus {
	st, old := &sk.Status, unplanned(sk)
	status := cmp.Or(st.Status, v1alpha1.StatusUnknown)
	if old != "" && status == v1alpha1.StatusComplete {
		status = v1alpha1.StatusInProgress
	}
	return rolloutStatus{unplanned: old, Rollout: board.Rollout{
		Name: sk.Name, Status: status,
		CompleteNodes: st.CompleteNodes, Nodes: st.Nodes,
		Permits: len(st.Permits), Waiting: st.Waiting, Attention: st.Attention, Compartments: st.CompartmentStatuses,
	}}
}

// gauge tells how far Skyhooks are, and how long the rest takes.
type gauge struct {
	read *reader
	now  func() time.Time
}

// unplanned says that the operator has not planned the last edit of a Skyhook; empty if it has.
func unplanned(sk *v1alpha1.Skyhook) string {
	planned := sk.Status.ObservedGeneration
	// The API server gives a new Skyhook -1, and counts a deletion as an edit.
	if planned <= 0 || planned >= sk.Generation || sk.DeletionTimestamp != nil {
		return ""
	}
	return fmt.Sprintf("Skyhook %s: the operator has not planned the last edit yet; the status is of generation %d, and the spec "+
		"of generation %d", sk.Name, planned, sk.Generation)
}

const noSkyhooks = "No Skyhooks found"

func (s *session) status(ctx context.Context, name string, watch bool) error {
	if watch {
		if !s.tables() {
			return fmt.Errorf("--watch draws for people; leave out --watch, or --output %s", s.output)
		}
		return s.watchStatus(ctx, name)
	}
	list, err := s.gauge.rollouts(ctx, name)
	if err != nil {
		return err
	}
	if name != "" && s.output != outputName {
		s.gauge.estimate(ctx, &list[0])
	}
	for _, doubt := range slices.Concat(unplannedOf(list), s.gauge.unattended(ctx), s.gauge.nowhere(ctx, list)) {
		fmt.Fprintln(s.err, "Warning: "+doubt)
	}
	r := result{value: list, empty: noSkyhooks}
	for _, st := range list {
		r.names = append(r.names, v1alpha1.ResourcePrefix+st.Name)
	}
	if !s.tables() || len(list) == 0 {
		return s.print(r)
	}
	fmt.Fprint(s.out, s.canvas().draw(list))
	return nil
}

// nowhere says why a Skyhook, if it is the only one, selects no node: else it is complete without a word. Who may not
// list nodes is not told.
func (g gauge) nowhere(ctx context.Context, list []rolloutStatus) []string {
	const noNodes = "0/0"
	if len(list) != 1 || list[0].CompleteNodes != noNodes {
		return nil
	}
	nodes, err := g.read.nodes(ctx)
	if err != nil {
		return nil
	}
	sk, err := g.read.skyhook(ctx, list[0].Name)
	if err != nil {
		return nil
	}
	return admission.Cluster{Nodes: nodes}.Advice(sk)
}

// unplannedOf are the Skyhooks whose last edit is not planned, as sentences.
func unplannedOf(list []rolloutStatus) []string {
	var all []string
	for i := range list {
		if list[i].unplanned != "" {
			all = append(all, list[i].unplanned)
		}
	}
	return all
}

// unattended says that no operator is there to carry anything out, also if all is complete: the next edit will find none.
// Empty if there is one, or nobody knows.
func (g gauge) unattended(ctx context.Context) []string {
	v := &view{}
	if g.read.settings(ctx, v) != nil {
		return nil
	}
	g.read.leader(ctx, v)
	if was := g.asItWas(v); was != "" {
		return []string{was}
	}
	return nil
}

// asItWas says that what is shown does not change while no replica of the operator works; empty while one does.
func (g gauge) asItWas(v *view) string {
	var is string
	switch {
	case v.down(g.now()):
		is = "is ready"
	case !v.leaderless(g.now()).IsZero():
		is = "leads, by this computer's clock"
	default:
		return ""
	}
	return fmt.Sprintf("no replica of the operator in namespace %s %s, so nothing changes, and this is as it was; "+
		"%s says more", g.read.namespace, is, g.read.toCluster("kubectl skyhook why SKYHOOK"))
}

// rollouts reads the status of one Skyhook, or of all.
func (g gauge) rollouts(ctx context.Context, name string) ([]rolloutStatus, error) {
	var found []v1alpha1.Skyhook
	if name == "" {
		all, err := g.read.skyhooks(ctx)
		if err != nil {
			return nil, err
		}
		found = all
	} else {
		one, err := g.read.skyhook(ctx, name)
		if err != nil {
			return nil, err
		}
		found = []v1alpha1.Skyhook{*one}
	}
	list := []rolloutStatus{}
	for i := range found {
		st := rolloutOf(&found[i])
		st.abandoned = g.read.abandonedNote(&found[i])
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b rolloutStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// mostForEstimate is how many nodes an estimate is made for: it plays their whole rollout.
const mostForEstimate = 1000

// estimable reports whether it can be told how long the rest takes. Where nothing is in progress and something fails or is
// blocked, nobody knows: the look ahead takes the next try of what fails for a success.
func estimable(st *rolloutStatus) bool {
	ends := st.Nodes.InProgress > 0 || st.Nodes.Erroring+st.Nodes.Blocked == 0
	return ends && st.Status != v1alpha1.StatusComplete && st.Nodes.Total <= mostForEstimate
}

// estimate adds how long the rest takes, if that can be told.
func (g gauge) estimate(ctx context.Context, st *rolloutStatus) {
	if !estimable(st) {
		return
	}
	v, err := g.read.look(ctx, "")
	if err != nil || g.asItWas(v) != "" {
		return // the status itself is worth more than an estimate
	}
	now := g.now()
	f, err := forecast.Run(v.Snapshot, v.ahead(now, farAhead))
	if err != nil {
		return
	}
	for i := range f.Skyhooks {
		if f.Skyhooks[i].Name == st.Name && f.Skyhooks[i].Status.Status == v1alpha1.StatusComplete {
			answer := foreseen{}
			explainer{g.read.target}.tell(&answer, v, f, map[string]bool{st.Name: true})
			st.TimeLeft = &answer.Duration
		}
	}
}

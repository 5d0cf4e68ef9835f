package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
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
			"colours off.",
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
	Name          string                                `json:"name"`
	Status        v1alpha1.Status                       `json:"status"`
	CompleteNodes string                                `json:"completeNodes"`
	Nodes         v1alpha1.NodeCounts                   `json:"nodes"`
	Permits       int                                   `json:"permits"`
	Waiting       []v1alpha1.WaitingNodes               `json:"waiting"`
	Attention     []v1alpha1.NodeAttention              `json:"attention"`
	Compartments  map[string]v1alpha1.CompartmentStatus `json:"compartments"`
	// TimeLeft is an estimate; nil where nothing more happens by itself, or none was made.
	TimeLeft *metav1.Duration `json:"timeLeft,omitempty"`
	// rate is how many nodes a minute become complete; zero where that was not watched.
	rate float64
}

const noSkyhooks = "No Skyhooks found"

func (s *session) status(ctx context.Context, name string, watch bool) error {
	if watch {
		if s.output != outputTable && s.output != outputWide {
			return fmt.Errorf("--watch draws for people; leave out --watch, or --output %s", s.output)
		}
		return s.watchStatus(ctx, name)
	}
	list, err := s.rollouts(ctx, name)
	if err != nil {
		return err
	}
	if name != "" && s.output != outputName {
		s.estimate(ctx, &list[0])
	}
	if v := (&view{}); !allComplete(list) && s.settings(ctx, v) == nil && v.down() {
		fmt.Fprintf(s.err, "Warning: no replica of the operator in namespace %s is ready, so nothing progresses, and this is as it was; "+
			"kubectl skyhook why SKYHOOK says more\n", s.namespace)
	}
	r := result{value: list, empty: noSkyhooks}
	for _, st := range list {
		r.names = append(r.names, v1alpha1.ResourcePrefix+st.Name)
	}
	if s.output != outputTable && s.output != outputWide || len(list) == 0 {
		return s.print(r)
	}
	fmt.Fprint(s.out, s.canvas().draw(list))
	return nil
}

// rollouts reads the status of one Skyhook, or of all.
func (s *session) rollouts(ctx context.Context, name string) ([]rolloutStatus, error) {
	var found []v1alpha1.Skyhook
	if name == "" {
		var all v1alpha1.SkyhookList
		if err := s.client.List(ctx, &all); err != nil {
			return nil, fmt.Errorf("listing skyhooks: %w", err)
		}
		found = all.Items
	} else {
		one, err := s.skyhook(ctx, name)
		if err != nil {
			return nil, err
		}
		found = []v1alpha1.Skyhook{*one}
	}
	list := []rolloutStatus{}
	for i := range found {
		st := &found[i].Status
		list = append(list, rolloutStatus{
			Name: found[i].Name, Status: cmp.Or(st.Status, v1alpha1.StatusUnknown),
			CompleteNodes: st.CompleteNodes, Nodes: st.Nodes,
			Permits: len(st.Permits), Waiting: st.Waiting, Attention: st.Attention, Compartments: st.CompartmentStatuses,
		})
	}
	slices.SortFunc(list, func(a, b rolloutStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// mostForEstimate is how many nodes an estimate is made for: it plays their whole rollout.
const mostForEstimate = 1000

// estimate adds how long the rest takes, if that can be told.
func (s *session) estimate(ctx context.Context, st *rolloutStatus) {
	if st.Status == v1alpha1.StatusComplete || st.Nodes.Total > mostForEstimate {
		return
	}
	v, err := s.look(ctx)
	if err != nil || v.down() {
		return // the status itself is worth more than an estimate
	}
	now := s.now()
	f, err := forecast.Run(v.Snapshot, v.ahead(now, farAhead))
	if err != nil {
		return
	}
	for i := range f.Skyhooks {
		if f.Skyhooks[i].Name == st.Name && f.Skyhooks[i].Status.Status == v1alpha1.StatusComplete {
			answer := foreseen{}
			s.tell(&answer, v, f, map[string]bool{st.Name: true})
			st.TimeLeft = &answer.Duration
		}
	}
}

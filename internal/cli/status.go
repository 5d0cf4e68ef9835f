package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status [SKYHOOK]",
		Short: "Show how far Skyhooks are, by compartment, status and reason",
		Long: "Shows for each Skyhook a bar per compartment, how many nodes are in which status, what the others wait for, and\n" +
			"for one Skyhook how long the rest takes. With --watch it is drawn anew every second until it is complete.",
		Example:           "  kubectl skyhook status\n  kubectl skyhook status gpu-init --watch",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.status(ctx, strings.Join(args, ""), watch)
		}),
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "draw it anew until everything is complete")
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
	TimeLeft *time.Duration `json:"timeLeft,omitempty"`
}

func (s *session) status(ctx context.Context, name string, watch bool) error {
	if watch {
		return s.watchStatus(ctx, name)
	}
	list, err := s.rollouts(ctx, name)
	if err != nil {
		return err
	}
	if name != "" && s.output != outputName {
		s.estimate(ctx, &list[0])
	}
	r := result{value: list, empty: "No Skyhooks found"}
	for _, st := range list {
		r.names = append(r.names, v1alpha1.ResourcePrefix+st.Name)
	}
	if s.output != outputTable && s.output != outputWide || len(list) == 0 {
		return s.print(r)
	}
	fmt.Fprint(s.out, s.paint(list))
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
	if err != nil {
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
			st.TimeLeft = &answer.Duration.Duration
		}
	}
}

// colours by what a status means for a person. lipgloss leaves them out where the output is no terminal, and for
// NO_COLOR.
var colours = map[v1alpha1.Status]lipgloss.Color{
	v1alpha1.StatusComplete: "2", v1alpha1.StatusInProgress: "4", v1alpha1.StatusErroring: "1",
	v1alpha1.StatusBlocked: "3", v1alpha1.StatusWaiting: "8", v1alpha1.StatusPaused: "3", v1alpha1.StatusDisabled: "8",
}

// paint draws the status of Skyhooks.
func (s *session) paint(list []rolloutStatus) string {
	r := lipgloss.NewRenderer(s.out)
	var b strings.Builder
	for i := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		list[i].draw(&b, r)
	}
	return b.String()
}

func (st *rolloutStatus) draw(b *strings.Builder, r *lipgloss.Renderer) {
	title := r.NewStyle().Bold(true).Render(st.Name)
	state := r.NewStyle().Foreground(colours[st.Status]).Render(string(st.Status))
	fmt.Fprintf(b, "%s  %s  %s nodes complete, %d may work now%s\n", title, state, st.CompleteNodes, st.Permits, st.left())
	names := slices.Sorted(maps.Keys(st.Compartments))
	width := 0
	for _, name := range names {
		width = max(width, len(shownCompartment(name)))
	}
	for _, name := range names {
		drawCompartment(b, r, shownCompartment(name), width, st.Compartments[name])
	}
	if counts := st.counts(r); counts != "" {
		fmt.Fprintf(b, "  nodes: %s\n", counts)
	}
	for _, w := range st.Waiting {
		fmt.Fprintf(b, "  waiting: %d %s\n", w.Nodes, w.Reason)
	}
	for _, a := range st.Attention {
		fmt.Fprintf(b, "  %s: %s: %s\n", a.Node, a.Reason, packagefile.Printable(strings.ReplaceAll(a.Message, "\n", " ")))
	}
}

func shownCompartment(name string) string {
	if name == "__default__" {
		return "default"
	}
	return name
}

func (st *rolloutStatus) left() string {
	if st.TimeLeft == nil || *st.TimeLeft == 0 {
		return ""
	}
	return fmt.Sprintf(", about %s left", st.TimeLeft.Round(time.Second))
}

// drawCompartment draws one bar: what is complete, what is in progress, and the rest.
func drawCompartment(b *strings.Builder, r *lipgloss.Renderer, name string, width int, c v1alpha1.CompartmentStatus) {
	const cells = 40
	total := max(1, c.Matched)
	done := cells * c.Completed / total
	busy := min(cells-done, (cells*c.InProgress+total-1)/total)
	bar := r.NewStyle().Foreground(colours[v1alpha1.StatusComplete]).Render(strings.Repeat("█", done)) +
		r.NewStyle().Foreground(colours[v1alpha1.StatusInProgress]).Render(strings.Repeat("▒", busy)) +
		strings.Repeat("░", cells-done-busy)
	note := ""
	if s := c.BatchState; s != nil {
		note = fmt.Sprintf("  batch %d", s.CurrentBatch)
		if s.ShouldStop {
			note += ", " + r.NewStyle().Foreground(colours[v1alpha1.StatusErroring]).Render("stopped")
		}
	}
	fmt.Fprintf(b, "  %-*s %s %d/%d  at most %d at a time%s\n", width, name, bar, c.Completed, c.Matched, c.Ceiling, note)
}

func (st *rolloutStatus) counts(r *lipgloss.Renderer) string {
	var parts []string
	for _, c := range []struct {
		n      int
		status v1alpha1.Status
	}{
		{st.Nodes.Complete, v1alpha1.StatusComplete},
		{st.Nodes.InProgress, v1alpha1.StatusInProgress},
		{st.Nodes.Erroring, v1alpha1.StatusErroring},
		{st.Nodes.Waiting, v1alpha1.StatusWaiting},
		{st.Nodes.Blocked, v1alpha1.StatusBlocked},
		{st.Nodes.Paused, v1alpha1.StatusPaused},
		{st.Nodes.Disabled, v1alpha1.StatusDisabled},
		{st.Nodes.Unknown, v1alpha1.StatusUnknown},
	} {
		if c.n > 0 {
			word := fmt.Sprintf("%d %s", c.n, strings.ReplaceAll(string(c.status), "_", " "))
			parts = append(parts, r.NewStyle().Foreground(colours[c.status]).Render(word))
		}
	}
	return strings.Join(parts, ", ")
}

// watchStatus draws the status again and again: in place on a terminal, else a block whenever it changes.
func (s *session) watchStatus(ctx context.Context, name string) error {
	if isTerminal(s.out) {
		m := &watchModel{session: s, ctx: ctx, name: name}
		if _, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.in), tea.WithOutput(s.out)).Run(); err != nil {
			return err
		}
		return m.err
	}
	last := ""
	for {
		list, err := s.rollouts(ctx, name)
		if err != nil {
			return err
		}
		if text := s.paint(list); text != last {
			fmt.Fprint(s.out, text)
			last = text
		}
		if allComplete(list) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(refresh):
		}
	}
}

const refresh = time.Second

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

func allComplete(list []rolloutStatus) bool {
	return !slices.ContainsFunc(list, func(st rolloutStatus) bool { return st.Status != v1alpha1.StatusComplete })
}

// watchModel is the screen of status --watch.
type watchModel struct {
	session *session
	ctx     context.Context
	name    string
	text    string
	err     error
}

// drawn is a status that was read.
type drawn struct {
	text string
	over bool
	err  error
}

// Init implements tea.Model.
func (m *watchModel) Init() tea.Cmd { return m.read }

func (m *watchModel) read() tea.Msg {
	list, err := m.session.rollouts(m.ctx, m.name)
	if err != nil {
		return drawn{err: err}
	}
	return drawn{text: m.session.paint(list), over: allComplete(list)}
}

// Update implements tea.Model.
func (m *watchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if k := msg.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			return m, tea.Quit
		}
	case drawn:
		if m.err = msg.err; m.err != nil {
			return m, tea.Quit
		}
		if m.text = msg.text; msg.over {
			return m, tea.Quit
		}
		return m, tea.Tick(refresh, func(time.Time) tea.Msg { return m.read() })
	}
	return m, nil
}

// View implements tea.Model.
func (m *watchModel) View() string { return m.text }

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// refresh is how often the status is read.
const refresh = time.Second

// watchStatus draws the status again and again: in place on a terminal, else a block whenever it changes.
func (s *session) watchStatus(ctx context.Context, name string) error {
	if _, ok := terminal(s.out); ok {
		m := newWatch(ctx, s.gauge, name, s.canvas())
		if _, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.in), tea.WithOutput(s.out)).Run(); err != nil {
			return err
		}
		return m.err
	}
	var (
		last  string
		told  []string
		vigil vigil
	)
	for {
		list, err := s.gauge.rollouts(ctx, name)
		if err != nil {
			return err
		}
		doubts := vigil.doubts(ctx, s.gauge, list)
		for _, doubt := range doubts {
			if !slices.Contains(told, doubt) {
				fmt.Fprintln(s.err, "Warning: "+doubt)
			}
		}
		told = doubts
		if text := s.canvas().draw(list); text != last {
			if last != "" {
				fmt.Fprintln(s.out)
			}
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

// vigil is what to doubt about a status that is read again and again.
type vigil struct {
	// asked is when the operator was looked at last, which is less often, and found what there was to say of it.
	asked time.Time
	found []string
	// seen are the edits that were not planned at the last look: most are planned by the next one.
	seen []string
}

// doubts are sentences.
func (v *vigil) doubts(ctx context.Context, g gauge, list []rolloutStatus) []string {
	const often = 10 * time.Second
	if now := g.now(); now.Sub(v.asked) >= often {
		v.asked, v.found = now, g.unattended(ctx, list)
	}
	seen := v.seen
	v.seen = unplannedOf(list)
	lasting := slices.DeleteFunc(slices.Clone(v.seen), func(doubt string) bool { return !slices.Contains(seen, doubt) })
	return append(lasting, v.found...)
}

func allComplete(list []rolloutStatus) bool {
	return !slices.ContainsFunc(list, func(st rolloutStatus) bool { return st.Status != v1alpha1.StatusComplete })
}

// Watch is the screen of status --watch, for a program that shows it somewhere else. Each Init reads the cluster.
func Watch(c client.Client, skyhook string, now func() time.Time, r *lipgloss.Renderer) tea.Model {
	to := target{namespace: defaultNamespace}
	g := gauge{&reader{target: to, client: c}, now}
	return newWatch(context.Background(), g, skyhook, canvas{Renderer: r})
}

func newWatch(ctx context.Context, g gauge, name string, c canvas) *watchModel {
	c.still, c.forPeople = true, g.read.forPeople
	return &watchModel{gauge: g, ctx: ctx, name: name, canvas: c, speeds: speeds{}}
}

// watchModel is the screen of status --watch.
type watchModel struct {
	gauge  gauge
	ctx    context.Context
	name   string
	canvas canvas
	height int
	list   []rolloutStatus
	// vigil is for who reads; doubts are what it had to say last.
	vigil  vigil
	doubts []string
	speeds speeds
	left   remainder
	over   bool
	err    error
}

// What the screen is told: that it is time to read, what was read, and how long the rest takes.
type (
	tick struct{}
	seen struct {
		list   []rolloutStatus
		doubts []string
		err    error
	}
	timeLeft struct {
		left *metav1.Duration
		took time.Duration
	}
)

// Init implements tea.Model.
func (m *watchModel) Init() tea.Cmd {
	if m.name == "" || !m.left.due(m.gauge.now()) {
		return m.read
	}
	return tea.Batch(m.estimate, m.read)
}

func (m *watchModel) read() tea.Msg {
	list, err := m.gauge.rollouts(m.ctx, m.name)
	if err != nil {
		return seen{err: err}
	}
	return seen{list: list, doubts: m.vigil.doubts(m.ctx, m.gauge, list)}
}

func (m *watchModel) estimate() tea.Msg {
	begin := m.gauge.now()
	list, err := m.gauge.rollouts(m.ctx, m.name)
	if err != nil {
		return timeLeft{} // reading tells the error
	}
	m.gauge.estimate(m.ctx, &list[0])
	return timeLeft{list[0].TimeLeft, m.gauge.now().Sub(begin)}
}

// Update implements tea.Model.
func (m *watchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if k := msg.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			m.over = true
		}
	case tea.WindowSizeMsg:
		m.canvas.width, m.height = msg.Width, msg.Height
	case tick:
		ask := m.Init()
		return m, ask
	case timeLeft:
		m.left.told(msg.left, msg.took, m.gauge.now())
	case seen:
		if m.err = msg.err; m.err == nil {
			m.see(msg.list)
			m.doubts = msg.doubts
		}
		if m.over = m.over || m.err != nil || allComplete(m.list); !m.over {
			return m, tea.Tick(refresh, func(time.Time) tea.Msg { return tick{} })
		}
	}
	if m.over {
		return m, tea.Quit
	}
	return m, nil
}

// see takes over what was read, and how fast it goes.
func (m *watchModel) see(list []rolloutStatus) {
	m.list, m.canvas.now = list, m.gauge.now()
	for i := range list {
		m.speeds.see(&list[i], m.canvas.now)
	}
	if m.name != "" {
		m.left.tell(&list[0], m.canvas.now)
	}
}

// View implements tea.Model.
func (m *watchModel) View() string {
	if m.list == nil {
		return ""
	}
	text := m.canvas.draw(m.list)
	for _, doubt := range slices.Backward(m.doubts) { // on top, where it is not cut off
		text = m.canvas.line("Warning: ", len("Warning: "), doubt) + "\n" + text
	}
	lines := strings.SplitAfter(text, "\n")
	if !m.over {
		lines = append(lines[:len(lines)-1], "\n", m.canvas.NewStyle().Faint(true).Render("  q quits"+m.more())+"\n", "")
	}
	// The line behind the last line end needs room as well. What does not fit would push the top away.
	if m.height > 1 && len(lines) > m.height {
		lines = append(lines[:m.height-2], fmt.Sprintf("  … %d more lines\n", len(lines)-m.height+1), "")
	}
	return strings.Join(lines, "")
}

// more names the command that says why nodes do not progress.
func (m *watchModel) more() string {
	if m.name == "" || len(m.list[0].Waiting)+len(m.list[0].Attention) == 0 {
		return ""
	}
	return "; " + m.gauge.read.toCluster("kubectl skyhook why "+m.name) + " says more"
}

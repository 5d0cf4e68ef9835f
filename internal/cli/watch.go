package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
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
	w := &printed{session: s, name: name}
	for {
		over, err := w.turn(ctx)
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(refresh):
		}
	}
}

// printed is a watch whose output is no terminal.
type printed struct {
	*session
	name    string
	last    string
	told    []string
	vigil   vigil
	silence silence
	// again is when to tell of a silence that lasts.
	again time.Time
}

// turn reads once, and prints what is new.
func (w *printed) turn(ctx context.Context) (over bool, err error) {
	const often = 10 * time.Second
	list, err := w.gauge.answered(ctx, w.name)
	silent, err := w.silence.after(err, w.now())
	switch {
	case ctx.Err() != nil:
		return true, nil //nolint:nilerr // Who interrupts a watch wants no error.
	case err != nil:
		return true, err
	case silent != nil && w.now().Before(w.again):
		return false, nil
	case silent != nil:
		w.warn(silent)
		w.again = w.now().Add(often)
		return false, nil
	}
	w.again = time.Time{}
	w.warn(w.vigil.doubts(ctx, w.gauge, list))
	if text := w.canvas().draw(list); text != w.last {
		if w.last != "" {
			fmt.Fprintln(w.out)
		}
		fmt.Fprint(w.out, text)
		w.last = text
	}
	return allComplete(list), nil
}

// warn tells of what was not told the last time.
func (w *printed) warn(doubts []string) {
	for _, doubt := range doubts {
		if !slices.Contains(w.told, doubt) {
			fmt.Fprintln(w.err, "Warning: "+doubt)
		}
	}
	w.told = doubts
}

// answerWithin is how long a watch waits for one answer: a connection that hangs would else look like nothing new.
const answerWithin = 5 * time.Second

// answered is rollouts for a watch.
func (g gauge) answered(ctx context.Context, name string) ([]rolloutStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return g.rollouts(ctx, name)
}

// silence is how long a watch has had no answer: an API server that restarts does not end it.
type silence struct {
	heard time.Time
	lasts time.Duration
}

// after takes the end of a read, and returns what to doubt of what is shown. An error that is returned ends the watch: the
// first read failed, or the Skyhook is gone.
func (s *silence) after(err error, now time.Time) ([]string, error) {
	switch {
	case err == nil:
		s.heard, s.lasts = now, 0
		return nil, nil
	case s.heard.IsZero(), apierrors.IsNotFound(err):
		return nil, err
	}
	s.lasts = max(now.Sub(s.heard), time.Second)
	return []string{fmt.Sprintf("no answer for %s, and this is as it was: %v", duration.HumanDuration(s.lasts), err)}, nil
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
		v.asked, v.found = now, g.unattended(ctx)
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
	vigil   vigil
	doubts  []string
	silence silence
	speeds  speeds
	left    remainder
	over    bool
	err     error
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
	list, err := m.gauge.answered(m.ctx, m.name)
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
		m.hear(msg)
		if m.over = m.over || m.err != nil || allComplete(m.list) && m.silence.lasts == 0; !m.over {
			return m, tea.Tick(refresh, func(time.Time) tea.Msg { return tick{} })
		}
	}
	if m.over {
		return m, tea.Quit
	}
	return m, nil
}

// hear takes an answer, or that there is none.
func (m *watchModel) hear(msg seen) {
	var silent []string
	if silent, m.err = m.silence.after(msg.err, m.gauge.now()); m.err != nil {
		return
	}
	if m.doubts = silent; silent == nil {
		m.see(msg.list)
		m.doubts = msg.doubts
	}
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

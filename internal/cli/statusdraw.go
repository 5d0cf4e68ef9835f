package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	// widest and narrowest are the columns that tables are drawn for; more make bars long and hard to compare.
	widest, narrowest = 100, 60
	// shortest is the bar that is still worth a look.
	shortest = 12
	// mostOfMessage bounds, in bytes, what a node needs attention for: there may be ten of them.
	mostOfMessage = 200
	// usualWidth is for tables that go elsewhere than to a terminal.
	usualWidth = 80
)

// colours by what a status means for a person. lipgloss leaves them out where the output is no terminal, and for
// NO_COLOR. They are those that terminals let people choose.
var colours = map[v1alpha1.Status]lipgloss.Color{
	v1alpha1.StatusComplete: "2", v1alpha1.StatusInProgress: "6", v1alpha1.StatusErroring: "1",
	v1alpha1.StatusBlocked: "3", v1alpha1.StatusPaused: "3",
}

// canvas is what a status is drawn on.
type canvas struct {
	*lipgloss.Renderer
	// width is the terminal's; 0 where a line may be as long as it is.
	width int
	// still says that it is drawn again and again: only errors take several lines, so that the rest stays where it is.
	still bool
	now   time.Time
	// forPeople is that of the target.
	forPeople func(message string) string
	// whole says that messages are drawn in full; else why has what is left out.
	whole bool
}

// canvas is that of the command's output.
func (s *session) canvas() canvas {
	c := canvas{Renderer: lipgloss.NewRenderer(s.out), now: s.now(), forPeople: s.forPeople, whole: s.wide()}
	if fd, ok := terminal(s.out); ok {
		c.width, _, _ = term.GetSize(fd) // 0 is right if nobody knows
	}
	return c
}

// terminal is the file descriptor of a writer that is a terminal.
func terminal(w io.Writer) (fd int, ok bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// draw is the status of Skyhooks as text, with a line end behind each line.
func (c canvas) draw(list []rolloutStatus) string {
	if len(list) == 0 {
		return noSkyhooks + "\n"
	}
	var blocks []string
	for i := range list {
		blocks = append(blocks, c.skyhook(&list[i]))
	}
	return strings.Join(blocks, "\n")
}

func (c canvas) skyhook(st *rolloutStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", c.NewStyle().Bold(true).Render(st.Name), c.status(st.Status, words(st.Status)), st.far())
	if len(st.Compartments) > 0 {
		fmt.Fprintf(&b, "\n%s\n", c.compartments(st.Compartments))
	}
	const indent = 13
	label, pace := st.pace()
	notes := [][2]string{{"nodes", c.counts(&st.Nodes)}, {label, pace}}
	for i, w := range st.Waiting {
		label, why := []string{"waiting", ""}[min(i, 1)], sentence(fmt.Sprintf("%d %s", w.Nodes, w.Reason), c.forPeople(w.Message))
		if c.still {
			why = c.cut(why, indent)
		}
		notes = append(notes, [2]string{label, why})
	}
	notes = append(notes, [2]string{"abandoned", st.abandoned})
	for _, note := range notes {
		if note[1] != "" {
			b.WriteString(c.line(fmt.Sprintf("  %-9s  ", note[0]), indent, note[1]))
		}
	}
	c.attention(&b, st.Attention)
	return b.String()
}

// attention is a line for each node that does not progress.
func (c canvas) attention(b *strings.Builder, all []v1alpha1.NodeAttention) {
	if len(all) > 0 {
		b.WriteString("\n")
	}
	width := 0
	for i := range all {
		width = max(width, len(all[i].Node))
	}
	for i := range all {
		a := &all[i]
		what := c.status(a.Status, a.Reason)
		if !a.Since.IsZero() {
			what += " for " + ago(c.now, a.Since.Time)
		}
		message := attentionFor(a, c.forPeople)
		if !c.whole {
			message = text.Shorten(message, mostOfMessage)
		}
		row := fmt.Sprintf("%-*s  %s", width, a.Node, sentence(what, message))
		if c.still && a.Status != v1alpha1.StatusErroring {
			row = c.cut(row, 2)
		}
		b.WriteString(c.line("  ", 4, row))
	}
}

// attentionFor is the message of a node that needs attention, for people unless it is what scripts print.
func attentionFor(a *v1alpha1.NodeAttention, forPeople func(string) string) string {
	if a.Status == v1alpha1.StatusErroring {
		return a.Message
	}
	return forPeople(a.Message)
}

// matchesNone is what is true of a Skyhook that counts as complete because it has nothing to do.
const matchesNone = "spec.nodeSelectors matches no node, so there is nothing to do"

// far is how far the rollout is.
func (st *rolloutStatus) far() string {
	complete, total, ok := strings.Cut(st.CompleteNodes, "/")
	if st.Status == v1alpha1.StatusPaused || st.Status == v1alpha1.StatusDisabled { // no node has the status complete then
		sum := 0
		for _, c := range st.Compartments {
			sum += c.Completed
		}
		complete = strconv.Itoa(sum)
	}
	switch {
	case !ok:
		return "the operator has not looked at it yet"
	case st.Nodes.Total == 0 && st.CompleteNodes == "0/0":
		return matchesNone
	case st.Status == v1alpha1.StatusComplete && complete == total:
		return text.Count(st.Nodes.Total, "node")
	default:
		return complete + " of " + total + " nodes complete"
	}
}

// sentence puts a message behind what it is about.
func sentence(about, message string) string {
	message = oneLine(message)
	if message == "" {
		return about
	}
	return about + ": " + message
}

// oneLine is a message on one line. Messages have what scripts print: nothing of it may steer the terminal, or look like
// what it is not.
func oneLine(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, ansi.Strip(message))
	return packagefile.Printable(strings.Join(strings.Fields(message), " "))
}

// line is what stands behind the beginning of a line; where the terminal is too narrow it goes on below, indented.
func (c canvas) line(first string, indent int, what string) string {
	if c.width <= indent || lipgloss.Width(first+what) <= c.width {
		return first + what + "\n"
	}
	var b strings.Builder
	for row := range strings.SplitSeq(c.NewStyle().Width(c.width-indent).Render(what), "\n") {
		b.WriteString(first + strings.TrimRight(row, " ") + "\n")
		first = strings.Repeat(" ", indent)
	}
	return b.String()
}

// cut is as much as fits behind an indent.
func (c canvas) cut(what string, indent int) string {
	if c.width <= indent {
		return what
	}
	return ansi.Truncate(what, c.width-indent, "…")
}

func (c canvas) status(s v1alpha1.Status, what string) string {
	style := c.NewStyle()
	if what == "" {
		return ""
	}
	if colour, ok := colours[s]; ok {
		style = style.Foreground(colour)
	}
	return style.Render(what)
}

// words are a status as people write it.
func words(s v1alpha1.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

// pace is how long the rest takes and how fast it goes, as far as that is known, and what to call it.
func (st *rolloutStatus) pace() (label, pace string) {
	rate := ""
	switch {
	case st.rate >= 1:
		rate = strconv.FormatFloat(st.rate, 'f', 1, 64) + " nodes a minute"
	case st.rate > 0:
		rate = strconv.FormatFloat(st.rate*60, 'f', 0, 64) + " nodes an hour"
	}
	if st.TimeLeft == nil || st.TimeLeft.Duration <= 0 {
		return "rate", rate
	}
	left := "about " + duration.HumanDuration(max(10*time.Second, st.TimeLeft.Round(10*time.Second)))
	if rate != "" {
		left += ", " + rate
	}
	return "time left", left
}

// stopped stands behind the number of a batch after which no other begins.
const stopped = " stopped"

// row is a compartment in the table: its name, and what stands behind its bar.
type row [5]string

// compartments is a table with a bar for each.
func (c canvas) compartments(all map[string]v1alpha1.CompartmentStatus) string {
	columns := cmp.Or(c.width, usualWidth)
	columns = min(widest, max(narrowest, columns))
	names := shownCompartments(all)
	rows := []row{{"COMPARTMENT", "COMPLETE", "IN PROGRESS", "BUDGET", ""}}
	for _, name := range names {
		s := all[name]
		r := row{
			ansi.Truncate(titled(name, s), columns/4, "…"), fmt.Sprintf("%d/%d", s.Completed, s.Matched), strconv.Itoa(s.InProgress),
			strconv.Itoa(s.Ceiling), batchOf(s),
		}
		if s.BatchState != nil {
			rows[0][4] = "BATCH"
		}
		rows = append(rows, r)
	}
	widths, cells := measure(rows, columns)
	if cells < shortest { // the bars tell what is in progress, too
		for i := range rows {
			rows[i][2] = ""
		}
		widths, cells = measure(rows, columns)
	}
	var b strings.Builder
	for i, r := range rows {
		style, bar := c.NewStyle().Faint(i == 0), strings.Repeat(" ", cells)
		if i > 0 {
			bar = c.bar(cells, all[names[i-1]])
		}
		behind := style.Render(r.behind(widths))
		behind = strings.Replace(behind, stopped, c.status(v1alpha1.StatusErroring, stopped), 1)
		fmt.Fprintf(&b, "  %s  %s%s\n", style.Render(pad(r[0], widths[0], false)), bar, behind)
	}
	return b.String()
}

// shownCompartments are the names of those that have a bar, in their order.
func shownCompartments(all map[string]v1alpha1.CompartmentStatus) []string {
	names := slices.Sorted(maps.Keys(all))
	if len(names) > 1 { // a policy always has a default
		names = slices.DeleteFunc(names, func(name string) bool { return all[name].Matched == 0 })
	}
	return names
}

// batchOf is the number of a compartment's batch, and whether any follows; empty without batches.
func batchOf(s v1alpha1.CompartmentStatus) string {
	if s.BatchState == nil {
		return ""
	}
	if s.BatchState.ShouldStop { // the current one is the next, and does not begin
		return strconv.Itoa(max(1, s.BatchState.CurrentBatch-1)) + stopped
	}
	return strconv.Itoa(s.BatchState.CurrentBatch)
}

// measure returns how wide the columns are, and the bar between the first two of them.
func measure(rows []row, columns int) (widths [len(row{})]int, cells int) {
	cells = columns - 2 // between the first column and the bar
	for i := range widths {
		for _, r := range rows {
			widths[i] = max(widths[i], lipgloss.Width(r[i]))
		}
		if widths[i] > 0 {
			cells -= 2 + widths[i]
		}
	}
	return widths, max(shortest/2, cells)
}

// behind is what stands behind the bar: numbers to the right, the batch to the left.
func (r row) behind(widths [len(row{})]int) string {
	var b strings.Builder
	for i := 1; i < len(r); i++ {
		if widths[i] > 0 {
			b.WriteString("  " + pad(r[i], widths[i], i < len(r)-1))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func pad(cell string, width int, right bool) string {
	gap := strings.Repeat(" ", width-lipgloss.Width(cell))
	if right {
		return gap + cell
	}
	return cell + gap
}

// titled is the name of a compartment; without a policy there is one without a name.
func titled(name string, s v1alpha1.CompartmentStatus) string {
	switch {
	case name == rollout.DefaultCompartment && s.BatchState == nil:
		return "all nodes"
	default:
		return namedCompartments(name)
	}
}

// namedCompartments is a text with the name of the default compartment as people read it; the API has one that no
// compartment of a policy can have.
func namedCompartments(message string) string {
	return strings.ReplaceAll(message, rollout.DefaultCompartment, "default")
}

// bar is what is complete, erroring, in progress, and the rest. Each can be told without colours as well.
func (c canvas) bar(cells int, s v1alpha1.CompartmentStatus) string {
	total := max(1, s.Matched)
	done := min(cells, cells*s.Completed/total)
	bad := min(cells-done, (cells*s.Erroring+total-1)/total)
	busy := min(cells-done-bad, (cells*s.InProgress+total-1)/total)
	return c.status(v1alpha1.StatusComplete, strings.Repeat("█", done)) +
		c.status(v1alpha1.StatusErroring, strings.Repeat("▓", bad)) +
		c.status(v1alpha1.StatusInProgress, strings.Repeat("▒", busy)) +
		c.NewStyle().Faint(true).Render(strings.Repeat("░", cells-done-bad-busy))
}

// counts are the nodes by status.
func (c canvas) counts(n *v1alpha1.NodeCounts) string {
	var parts []string
	for _, of := range []struct {
		n      int
		status v1alpha1.Status
	}{
		{n.Complete, v1alpha1.StatusComplete},
		{n.InProgress, v1alpha1.StatusInProgress},
		{n.Erroring, v1alpha1.StatusErroring},
		{n.Waiting, v1alpha1.StatusWaiting},
		{n.Blocked, v1alpha1.StatusBlocked},
		{n.Paused, v1alpha1.StatusPaused},
		{n.Disabled, v1alpha1.StatusDisabled},
		{n.Unknown, v1alpha1.StatusUnknown},
	} {
		if of.n > 0 {
			parts = append(parts, c.status(of.status, fmt.Sprintf("%d %s", of.n, words(of.status))))
		}
	}
	return strings.Join(parts, ", ")
}

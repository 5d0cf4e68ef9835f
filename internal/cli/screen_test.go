//go:build integration

package cli_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
)

// screenOf is the screen of status --watch on a terminal, after a look at the cluster.
type screenOf struct {
	tea.Model
	now  time.Time
	quit bool
}

func (c *cluster) screen(colours termenv.Profile, width, height int) *screenOf {
	s := &screenOf{now: today.Add(90 * time.Second)}
	r := lipgloss.NewRenderer(nil)
	r.SetColorProfile(colours)
	s.Model = cli.Watch(c, "gpu", func() time.Time { return s.now }, r)
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	s.look(s.Init())
	return s
}

// look does what the screen asks for, but does not wait for its next look.
func (s *screenOf) look(ask tea.Cmd) {
	switch msg := ask().(type) {
	case tea.BatchMsg:
		for _, ask := range msg {
			s.look(ask)
		}
	default:
		s.tell(msg)
	}
}

func (s *screenOf) tell(msg tea.Msg) {
	_, then := s.Update(msg)
	s.quit = reflect.ValueOf(then).Pointer() == reflect.ValueOf(tea.Quit).Pointer()
}

// TestScreen draws the same rollout on several terminals.
func TestScreen(t *testing.T) {
	c := newCluster(t)
	s := rolling()
	s.Status.Waiting[0].Message = "compartment rack-7: the batch waits for node worker-7"
	s.Status.Attention[0].Message = "tuning-apply exited with 2:\n\x1b[31mno such sysctl: vm.nr_overcommit_hugepages"
	s.Status.Attention = append(s.Status.Attention, v1alpha1.NodeAttention{
		Node: "worker-13", Status: v1alpha1.StatusInProgress, Reason: "WaitingForReboot", Since: metav1.NewTime(today),
		Message: "the node was told to reboot, and its boot id has not changed yet",
	})
	c.put(s)
	for _, terminal := range []struct {
		name          string
		colours       termenv.Profile
		width, height int
	}{
		{"60", termenv.Ascii, 60, 40},
		{"100", termenv.Ascii, 100, 40},
		{"200", termenv.Ascii, 200, 40},
		{"colours", termenv.ANSI, 80, 40},
		{"low", termenv.Ascii, 80, 9},
	} {
		t.Run(terminal.name, func(t *testing.T) {
			view := c.screen(terminal.colours, terminal.width, terminal.height).View()
			if lines := strings.Count(view, "\n"); lines >= terminal.height {
				t.Errorf("%d lines", lines)
			}
			if width := lipgloss.Width(view); width > terminal.width {
				t.Errorf("%d columns", width)
			}
			golden(t, "screen-"+terminal.name, view)
		})
	}
}

// TestScreenPace tells how fast it goes and how long the rest takes, and ends with the rollout.
func TestScreenPace(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	c.put(newNode("worker-1", nil))
	s := c.screen(termenv.Ascii, 80, 24)
	want := func(text string) {
		t.Helper()
		if view := s.View(); !strings.Contains(view, text) {
			t.Errorf("%q is not in\n%s", text, view)
		}
	}
	want("  time left  about 7m30s\n")
	complete := func(nodes int, status v1alpha1.Status) {
		t.Helper()
		stored := c.stored("gpu")
		stored.Status.Nodes.Complete, stored.Status.Status = nodes, status
		if err := c.Status().Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		s.look(s.Init())
	}
	s.now = s.now.Add(20 * time.Second)
	complete(41, v1alpha1.StatusErroring)
	want("  time left  about 7m10s, 3.0 nodes a minute\n")
	s.now = s.now.Add(5 * time.Minute)
	complete(43, v1alpha1.StatusErroring)
	want("  time left  about 7m30s, 34 nodes an hour\n") // estimated again
	if s.quit {
		t.Error("it ends before the rollout")
	}
	complete(100, v1alpha1.StatusComplete)
	want("  rate       11.2 nodes a minute\n")
	if !s.quit || strings.Contains(s.View(), "q quits") {
		t.Errorf("it does not end with the rollout:\n%s", s.View())
	}
}

// TestScreenDoubts an edit that nobody plans, on top, and not one that is planned a moment later.
func TestScreenDoubts(t *testing.T) {
	c := newCluster(t)
	s := rolling()
	s.Status.ObservedGeneration = 1
	c.put(s)
	screen := c.screen(termenv.Ascii, 80, 9)
	edited := c.stored("gpu")
	edited.Spec.Priority = 77
	if err := c.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	const warning = "Warning: Skyhook gpu: the operator has not planned the last edit yet; the status\n" +
		"         is of generation 1, and the spec of generation 2\n\ngpu  "
	for look, want := range []bool{false, true} {
		screen.look(screen.Init())
		view := screen.View()
		if strings.HasPrefix(view, warning) != want || !strings.Contains(view, "more lines") {
			t.Errorf("look %d:\n%s", look, view)
		}
	}
	edited.Status.ObservedGeneration = 2
	if err := c.Status().Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	screen.look(screen.Init())
	if view := screen.View(); !strings.HasPrefix(view, "gpu  ") {
		t.Errorf("after it is planned:\n%s", view)
	}
}

// TestScreenEnds on a key, and when the Skyhook is gone.
func TestScreenEnds(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	for _, key := range []tea.KeyMsg{{Type: tea.KeyCtrlC}, {Type: tea.KeyEsc}, {Type: tea.KeyRunes, Runes: []rune{'q'}}} {
		s := c.screen(termenv.Ascii, 80, 24)
		s.tell(tea.KeyMsg{Type: tea.KeyUp})
		if s.quit {
			t.Error("it ends on an arrow")
		}
		s.tell(key)
		if !s.quit {
			t.Errorf("it goes on after %s", key)
		}
	}
	s := c.screen(termenv.Ascii, 80, 24)
	if err := c.Delete(t.Context(), c.stored("gpu")); err != nil {
		t.Fatal(err)
	}
	s.look(s.Init())
	if !s.quit {
		t.Error("it goes on without its Skyhook")
	}
}

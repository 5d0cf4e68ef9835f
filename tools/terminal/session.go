package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

const (
	// columns and rows of the terminal.
	columns, rows = 88, 22

	prompt  = "\x1b[32m$\x1b[m "
	command = "kubectl skyhook status " + name + " --watch"

	// every is the time in the cluster between two looks at the screen; each is shown for a while.
	every, shown = 30 * time.Second, 250 * time.Millisecond
	// word is for how long the command is shown after each of its words, rest for how long the end is.
	word, rest = 200 * time.Millisecond, 5 * time.Second
)

// frame is what the terminal shows, and for how long.
type frame struct {
	text string
	time time.Duration
}

// session types the command and watches a rollout.
func session() ([]frame, error) {
	operator, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "")
	if err != nil {
		return nil, fmt.Errorf("settings of the operator: %w", err)
	}
	w := watcher{now: start, frames: typed()}
	_, ran := forecast.Run(before(), forecast.Options{
		Operator: operator, Now: start, Ahead: 24 * time.Hour, Takes: takes, Each: w.each,
	})
	if err := errors.Join(ran, w.err); err != nil {
		return nil, err
	}
	if !w.over {
		return nil, errors.New("the rollout does not end")
	}
	return append(w.frames, frame{w.frames[len(w.frames)-1].text + prompt, rest}), nil
}

// typed is the command, word by word.
func typed() []frame {
	frames := []frame{{prompt, 2 * word}}
	text := prompt
	for part := range strings.SplitAfterSeq(command, " ") {
		text += part
		frames = append(frames, frame{text, word})
	}
	return frames
}

// watcher looks at the screen of the command while the rollout goes on.
type watcher struct {
	screen tea.Model
	now    time.Time
	over   bool
	frames []frame
	err    error
}

// each takes what the screen shows from now until something happens next.
func (w *watcher) each(c client.Client, now, next time.Time) {
	if w.over || w.err != nil {
		return
	}
	if w.screen == nil {
		r := lipgloss.NewRenderer(nil)
		r.SetColorProfile(termenv.ANSI)
		w.screen = cli.Watch(reader{c}, name, func() time.Time { return w.now }, r)
		w.screen.Update(tea.WindowSizeMsg{Width: columns, Height: rows - 2})
	}
	if w.err = fail(c, now); w.err != nil {
		return
	}
	var skyhook v1alpha1.Skyhook
	if w.err = c.Get(context.Background(), client.ObjectKey{Name: name}, &skyhook); w.err != nil {
		return
	}
	for w.over = skyhook.Status.Status == v1alpha1.StatusComplete; w.over || w.now.Before(next); w.now = w.now.Add(every) {
		w.run(w.screen.Init())
		w.frames = append(w.frames, frame{prompt + command + "\n\n" + w.screen.View(), shown})
		if w.over {
			return
		}
	}
}

// run does what the screen asks for, but leaves its next look to each.
func (w *watcher) run(ask tea.Cmd) {
	switch msg := ask().(type) {
	case tea.BatchMsg:
		for _, ask := range msg {
			w.run(ask)
		}
	default:
		w.screen.Update(msg)
	}
}

// reader is a cluster that has nothing of what is not stored in memory.
type reader struct{ client.Client }

// List implements client.Client.
func (r reader) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	switch list.(type) {
	case *appsv1.DeploymentList, *policyv1.PodDisruptionBudgetList:
		return nil
	}
	return r.Client.List(ctx, list, o...)
}

package lifecycle_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// course is one package on a node, with an interrupt and one retry, between two of the events of the picture. What begins
// ends only by an event, and nothing begins but by the event "permit", so that every phase shows.
type course struct {
	record     record.Node
	pods       []lifecycle.Pod
	inFlight   *record.Interrupt
	cordoned   bool
	version    id
	config     string
	removed    bool
	generation int64
	now        time.Time
}

func (l *course) wanted() situation.Wanted {
	d := pkg(l.version).config("k=" + l.config).hash(l.config).def(string(l.version)).interrupt(noop).retries(1).uninstall(on)
	if l.removed {
		d = d.uninstall(on, asked)
	}
	return situation.Wanted{
		Packages: packages(d), Retained: retained(pkg(a).def(string(a)).interrupt(noop).uninstall(on)), Generation: l.generation,
	}
}

func (l *course) phase() situation.Phase {
	w := l.wanted()
	aim := situation.Aim{Package: w.Packages[l.version.name()], Removed: l.removed, Generation: l.generation}
	e, ok := l.record.Packages[record.Key(l.version.name(), l.version.version())]
	switch {
	case ok:
		return situation.PhaseOf(&e, aim, l.inFlight != nil)
	case situation.Overtaken(l.record, l.version.name(), l.version.version()):
		return situation.PhaseSuperseded
	}
	return situation.PhaseOf(nil, aim, l.inFlight != nil)
}

// passes follows decisions until there is nothing more to do.
func (l *course) passes(permitted bool) {
	for busy := true; busy; {
		o := lifecycle.Observation{
			Skyhook: skyhookName, Wanted: l.wanted(), Record: l.record, InFlight: l.inFlight, Pods: slices.Clone(l.pods),
			Now: l.now, ConfigReady: map[string]bool{"a": true}, RetainedReady: map[string]bool{string(a): true},
			Node: lifecycle.Node{Ready: true, BootID: "b1", Unschedulable: l.cordoned}, Drain: &lifecycle.Drain{Clear: true},
		}
		if permitted {
			p := permit
			o.Permit = &p
		}
		d := lifecycle.Next(o)
		busy = len(d.Steps) > 0 || d.Unschedulable != nil
		l.record, l.inFlight = d.Record, d.InFlight
		if d.Unschedulable != nil {
			l.cordoned = *d.Unschedulable
		}
		l.record.FinishedPermit = ""
		for _, gone := range d.Delete {
			l.pods = slices.DeleteFunc(l.pods, func(p lifecycle.Pod) bool { return p.Name == gone.Name })
		}
		for _, s := range d.Start {
			l.pods = append(l.pods, lifecycle.Pod{
				Name: string(s.Stage) + s.Run, Package: s.Package, Version: s.Version, Stage: s.Stage, Run: s.Run, Hash: l.config, Created: l.now,
			})
			permitted = false // one stage for each
		}
	}
}

// happening is something that happens to a package; it is not told of what it cannot happen to.
type happening struct {
	name string
	ok   func(*course) bool
	do   func(*course)
}

func podIs(want lifecycle.Outcome) func(*course) bool {
	return func(l *course) bool { return len(l.pods) == 1 && l.pods[0].Outcome == want }
}

func becomes(want lifecycle.Outcome) func(*course) {
	return func(l *course) {
		p := &l.pods[0]
		if p.Outcome == lifecycle.Failing {
			p.Restarts++
		}
		p.Outcome, p.Reason = want, stepFailed
	}
}

func settledIs(l *course) bool { return l.phase() == situation.PhaseSettled && !l.removed }

var events = []happening{
	{"permit", func(l *course) bool { return len(l.pods) == 0 }, func(l *course) { l.passes(true) }},
	{"done", podIs(lifecycle.Running), becomes(lifecycle.Done)},
	{"fails", podIs(lifecycle.Running), becomes(lifecycle.Failing)},
	{"lost", podIs(lifecycle.Running), becomes(lifecycle.Lost)},
	{"retried", podIs(lifecycle.Failing), becomes(lifecycle.Running)},
	{"limit", podIs(lifecycle.Failing), becomes(lifecycle.Failing)},
	{"edited", func(l *course) bool { return l.phase() == situation.PhaseExhausted }, func(l *course) { l.generation++ }},
	{"configMap", settledIs, func(l *course) { l.config = map[string]string{"1": "2", "2": "1"}[l.config]; l.generation++ }},
	{"version", func(l *course) bool { return settledIs(l) && l.version == a }, func(l *course) { l.version, l.generation = "a@1.1", l.generation+1 }},
	{"uninstall", func(l *course) bool { return settledIs(l) && l.version == a }, func(l *course) { l.removed = true; l.generation++ }},
	{"kept", func(l *course) bool { return l.phase() == situation.PhaseUninstallPending }, func(l *course) { l.removed = false; l.generation++ }},
}

// arrow is a way from one phase to another in the picture.
type arrow struct{ From, To, Text string }

// arrows are all ways that there are.
func arrows() map[arrow]bool {
	all, seen := map[arrow]bool{}, map[string]bool{}
	for queue := []course{{version: a, config: "1", generation: generation, now: now}}; len(queue) > 0; queue = queue[1:] {
		for _, e := range events {
			l := queue[0]
			l.pods, l.now = slices.Clone(l.pods), l.now.Add(time.Hour)
			if !e.ok(&l) {
				continue
			}
			from := l.phase()
			e.do(&l)
			l.passes(false)
			to := l.phase()
			if from == to && e.name == "permit" {
				continue // nothing was to do
			}
			all[arrow{string(from), string(to), e.name}] = true
			var key strings.Builder
			fmt.Fprint(&key, to, l.version, l.config, l.removed, len(l.pods), l.inFlight != nil)
			for _, p := range l.pods {
				fmt.Fprint(&key, p.Stage, p.Outcome)
			}
			for name, p := range situation.Sorted(l.record.Packages) {
				fmt.Fprint(&key, name, p.Stage, p.State, p.Reason)
			}
			if !seen[key.String()] {
				seen[key.String()] = true
				queue = append(queue, l)
			}
		}
	}
	return all
}

// TestPictureOfPhases: docs/pictures/phases.yaml has all ways from phase to phase that the code has, and no other.
func TestPictureOfPhases(t *testing.T) {
	var picture struct{ Arrows []arrow }
	raw, err := os.ReadFile("../../docs/pictures/phases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &picture); err != nil {
		t.Fatal(err)
	}
	drawn := map[arrow]bool{}
	for _, a := range picture.Arrows {
		drawn[a] = true
	}
	if diff := cmp.Diff(drawn, arrows()); diff != "" {
		t.Errorf("-drawn +in the code\n%s", diff)
	}
}

package faults

import (
	"fmt"
	"slices"
)

// trace is what happened, one line per event.
type trace struct {
	on    bool
	lines []string
}

func (t *trace) add(w *World, format string, args ...any) {
	if t.on {
		t.lines = append(t.lines, fmt.Sprintf("%5d %8s  ", w.step, w.now.Sub(epoch).Round(100*1e6))+fmt.Sprintf(format, args...))
	}
}

// Finding is one thing that must not be.
type Finding struct {
	// Name is stable: it names the check.
	Name string
	// Class tells findings of one check apart, by a few facts; see classify.
	Class string
	// Message says what was seen.
	Message string
	Step    int
	Phase   string
}

// Signature tells whether two findings are the same.
func (f Finding) Signature() string { return f.Name + "/" + f.Class }

// fatal findings end a world: what follows from them says nothing more.
var fatal = map[string]bool{
	"cycle": true, "no-rest": true, "no-reason": true, "waits-for-nobody": true, "slot-held": true,
	"cure-in-vain": true, "no-cure": true, "never-complete": true, "pods-forever": true, "reboots-forever": true, "panic": true,
}

// find notes a finding, once for each signature.
func (w *World) find(name, format string, args ...any) {
	w.findClass(name, "", format, args...)
}

func (w *World) findClass(name, class, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	w.trace.add(w, "FINDING %s/%s: %s", name, class, message)
	f := Finding{Name: name, Class: class, Message: message, Step: w.step, Phase: w.phase}
	w.over = w.over || fatal[name]
	if !slices.ContainsFunc(w.findings, func(o Finding) bool { return o.Signature() == f.Signature() }) {
		w.findings = append(w.findings, f)
	}
}

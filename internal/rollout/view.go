package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// View is what the record of a Skyhook on a node tells of what is wanted there: all that a plan reads of it. It depends
// on nothing else, so that it is derived once until either changes, and not in each pass over a fleet.
type View struct {
	// Facts as far as the record tells: the node may also be Unavailable, or Disturbed by an interrupt in flight.
	Facts lifecycle.Facts
	// Empty says that the record has no package.
	Empty bool
	// Begun, FinishedPermit, Wait, Failure, Uninstalling and the rest are as in Node.
	Begun            bool
	FinishedPermit   string
	Wait, Failure    *lifecycle.Wait
	Uninstalling     bool
	UninstallFailure *lifecycle.Wait
	Recorded         string
	// Removals have the definitions that packages are, or are to be, uninstalled with.
	Removals []lifecycle.Removal
	// Stays are package versions whose uninstall nobody asked for, each with its definition in Kept.
	Stays []record.Entry
	Kept  []lifecycle.Package
	// Needs are the packages' definitions that the record names beside those of the spec.
	Needs []Need
	// Installed packages, and those of the spec that are complete, by name: only while an uninstall is asked for.
	Installed, Complete []string
	// InFlight is the interrupt in flight on the node as the record tells; nil for none.
	InFlight *record.Interrupt
}

// Need is a definition that a record names, and the key of the entry that does.
type Need struct{ Definition, Key string }

// NeedsOf are the definitions that a record names beside those of what is wanted, in no order.
func NeedsOf(w lifecycle.Wanted, n record.Node) []Need {
	var list []Need
	for key, e := range n.Packages {
		if w.Packages[e.Name].Definition != e.Definition {
			list = append(list, Need{e.Definition, key})
		}
	}
	return list
}

// ViewOf derives it of the record of a Skyhook.
func ViewOf(skyhook string, w lifecycle.Wanted, n record.Node) *View {
	v := &View{
		Facts: lifecycle.FactsOf(skyhook, w, n, nil, true), FinishedPermit: n.FinishedPermit, Wait: n.Wait,
		InFlight: lifecycle.InFlightOf(skyhook, n),
	}
	v.Empty, v.Needs = len(n.Packages) == 0, NeedsOf(w, n)
	v.Begun = !v.Empty && !v.Facts.FailedRun
	if e, failed := lifecycle.FirstFailure(w, n); failed {
		v.Failure = failureOf(e)
	}
	if w.Abandoned {
		v.Recorded = packageNames(n)
	}
	for _, l := range w.Removals(n) {
		if !l.Missing {
			v.Removals = append(v.Removals, l)
		}
	}
	for _, e := range lifecycle.Uninstalling(w, n) {
		v.Uninstalling = true
		if e.State == v1alpha1.StateErroring && v.UninstallFailure == nil {
			v.UninstallFailure = failureOf(e)
		}
	}
	v.Stays, v.Kept = w.Stays(n)
	v.packages(w, n)
	return v
}

// packages notes which are installed, and which are complete, while an uninstall is asked for.
func (v *View) packages(w lifecycle.Wanted, n record.Node) {
	if !w.AsksForUninstall() {
		return
	}
	for _, e := range n.Packages {
		v.Installed = append(v.Installed, e.Name)
	}
	for name := range w.Packages {
		if w.PackageComplete(n, name) {
			v.Complete = append(v.Complete, name)
		}
	}
}

// failureOf tells of a failed run.
func failureOf(e record.Entry) *lifecycle.Wait {
	return &lifecycle.Wait{
		Package: e.Name, Reason: e.Reason, Since: e.Since,
		Message: fmt.Sprintf("package %s stage %s: %s", e.Name, e.Stage, e.Message),
	}
}

func packageNames(n record.Node) string {
	return strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(n.Packages)), ", "), "|", " ")
}

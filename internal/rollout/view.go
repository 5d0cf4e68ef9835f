package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// View is what the record of a Skyhook on a node tells of what is wanted there: all that a plan reads of it. It depends
// on nothing else, so that it is derived once until either changes, and not in each pass over a fleet.
type View struct {
	// Facts as far as the record tells: the node may also be Unavailable, or Disturbed by an interrupt in flight.
	Facts situation.Facts
	// Empty says that the record has no package.
	Empty bool
	// FinishedPermit, Wait, Failure and the rest are as in Node.
	FinishedPermit string
	Wait, Failure  *record.Wait
	// InFlight is the interrupt in flight on the node as the record tells; nil for none.
	InFlight *record.Interrupt
	// Cordoned says that the Skyhook holds a cordon on the node. No plan goes by it and by Outline; they are counted.
	Cordoned bool
	Outline  record.Outline
	// Needs are the packages' definitions that the record names beside those of the spec.
	Needs Needs
	*Goes
}

// Goes is what a record tells about packages that are being uninstalled, that the spec no longer has, or that another
// operator installed. Records without such packages share one.
type Goes struct {
	Uninstalling     bool
	UninstallFailure *record.Wait
	Recorded         string
	// Removals have the definitions that packages are, or are to be, uninstalled with.
	Removals []situation.Removal
	// Stays are package versions whose uninstall nobody asked for, each with its definition in Kept.
	Stays []record.Entry
	Kept  []situation.Package
	// Installed packages, and those of the spec that are complete, by name: only while an uninstall is asked for.
	Installed, Complete []string
	// Unhashed are packages of which only another operator's ConfigMap tells what they were configured with.
	Unhashed []string
}

var nothingGoes Goes

func (g *Goes) empty() bool {
	return !g.Uninstalling && g.Recorded == "" &&
		len(g.Removals)+len(g.Stays)+len(g.Installed)+len(g.Complete)+len(g.Unhashed) == 0
}

// Needs are definitions that a record names, and the keys of the entries that do. Most nodes of a fleet need the same:
// equal ones are one value of the size of a pointer.
type Needs struct{ of unique.Handle[string] }

const needsSeparator = "\x00"

// NeedsOf are those that a record names beside those of what is wanted.
func NeedsOf(w situation.Wanted, n record.Node) Needs {
	var names []string
	for key, e := range n.Packages {
		if w.Packages[e.Name].Definition != e.Definition {
			names = append(names, e.Definition, key)
		}
	}
	if names == nil {
		return Needs{}
	}
	slices.Sort(names)
	return Needs{unique.Make(strings.Join(names, needsSeparator))}
}

// Names are all that is needed, definitions and keys, in no order.
func (n Needs) Names() []string {
	if n == (Needs{}) {
		return nil
	}
	return strings.Split(n.of.Value(), needsSeparator)
}

// ViewOf derives it of the record of a Skyhook.
func ViewOf(skyhook string, w situation.Wanted, n record.Node) View {
	v := View{
		Facts: situation.FactsOf(skyhook, w, n, nil, true), FinishedPermit: n.FinishedPermit, Wait: n.Wait,
		InFlight: lifecycle.InFlightOf(skyhook, n), Cordoned: n.Cordoned, Outline: record.OutlineOf(n),
		Needs: NeedsOf(w, n),
	}
	v.Empty = len(n.Packages) == 0
	if e, failed := situation.FirstFailure(w, n); failed {
		v.Failure = failureOf(e)
	}
	if v.Goes = goesOf(w, n); v.empty() {
		v.Goes = &nothingGoes
	}
	return v
}

func goesOf(w situation.Wanted, n record.Node) *Goes {
	g := &Goes{Unhashed: w.Unhashed(n)}
	if w.Abandoned {
		g.Recorded = packageNames(n)
	}
	for _, l := range w.Removals(n) {
		if !l.Missing {
			g.Removals = append(g.Removals, l)
		}
	}
	for _, e := range situation.Uninstalling(w, n) {
		g.Uninstalling = true
		if e.State == v1alpha1.StateErroring && g.UninstallFailure == nil {
			g.UninstallFailure = failureOf(e)
		}
	}
	g.Stays, g.Kept = w.Stays(n)
	g.packages(w, n)
	return g
}

// packages notes which are installed, and which are complete, while an uninstall is asked for.
func (g *Goes) packages(w situation.Wanted, n record.Node) {
	if !w.AsksForUninstall() {
		return
	}
	for _, e := range n.Packages {
		g.Installed = append(g.Installed, e.Name)
	}
	for name := range w.Packages {
		if w.PackageComplete(n, name) {
			g.Complete = append(g.Complete, name)
		}
	}
}

// failureOf tells of a failed run.
func failureOf(e record.Entry) *record.Wait {
	return &record.Wait{
		Package: e.Name, Reason: e.Reason, Since: e.Since,
		Message: fmt.Sprintf("package %s stage %s: %s", e.Name, e.Stage, e.Message),
	}
}

func packageNames(n record.Node) string {
	return strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(n.Packages)), ", "), "|", " ")
}

package lifecycle

import (
	"cmp"

	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// outOfTurn reports whether packages work one at a time and it is another's turn, and whose. Without serial nobody asks
// for the turn, which looks at every package.
func (v view) outOfTurn(name string) (turn string, out bool) {
	if !v.Serial {
		return "", false
	}
	turn = v.turn()
	return turn, turn != name
}

// turn is the package that works now when packages work one at a time: the one that has begun, else the first by name
// whose dependencies are complete. One that has begun lets its dependencies go first when they have work again, and has
// the turn when nobody else can use it: its interrupt may be pending, which asks for no dependency, and says what it
// waits for.
func (v view) turn() string {
	if e, running := v.interruptOwner(); running {
		return e.Name
	}
	if name := v.firstRemoval(); name != "" {
		return name
	}
	var first, begun string
	for name, pkg := range situation.Sorted(v.Packages) {
		if pkg.UninstallAsked() {
			continue
		}
		e, recorded := situation.Find(v.out.Record, name, pkg.Version)
		ready := unmet(v, name, pkg) == nil && v.removalFirst(name) == nil
		if recorded && !situation.Settled(pkg, e) && (ready || v.hasPod(name)) {
			return name
		}
		complete := recorded && situation.Final(pkg, e)
		switch {
		case complete:
		case ready && first == "":
			first = name
		case recorded && begun == "":
			begun = name
		}
	}
	return cmp.Or(first, begun)
}

// firstRemoval is the package whose turn it is to be uninstalled: the one that has begun, else the first by name that
// no other depends on. Removals come before installs.
func (v view) firstRemoval() string {
	var first string
	for key, l := range situation.Sorted(v.removals) {
		e, recorded := v.out.Record.Packages[key]
		switch {
		case !recorded || l.Missing:
		case v.uninstallingNow(e):
			return e.Name
		case first == "" || v.needs[e.Name][first]:
			first = e.Name
		}
	}
	return first
}

// uninstallingNow reports whether the uninstall of a package has begun and continues: without a pod, one waits for the
// uninstall of what depends on it, which may have been asked for later.
func (v view) uninstallingNow(e record.Entry) bool {
	_, waits := v.dependent(e)
	return record.IsUninstall(e.Stage) && (!waits || v.hasPod(e.Name))
}

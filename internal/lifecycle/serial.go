package lifecycle

import (
	"cmp"

	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// outOfTurn reports whether packages work one at a time and it is another's turn, and whose. Without serial nobody asks
// for the turn, which looks at every package.
func (p *pass) outOfTurn(name string) (turn string, out bool) {
	if !p.Serial {
		return "", false
	}
	turn = p.turn()
	return turn, turn != name
}

// turn is the package that works now when packages work one at a time: the one that has begun, else the first by name
// whose dependencies are complete. One that has begun lets its dependencies go first when they have work again, and has
// the turn when nobody else can use it: its interrupt may be pending, which asks for no dependency, and says what it
// waits for.
func (p *pass) turn() string {
	if e, running := p.interruptOwner(); running {
		return e.Name
	}
	if name := p.firstRemoval(); name != "" {
		return name
	}
	var first, begun string
	for name, pkg := range situation.Sorted(p.Packages) {
		if pkg.UninstallAsked() {
			continue
		}
		e, recorded := situation.Find(p.out.Record, name, pkg.Version)
		ready := p.unmet(name, pkg) == nil && p.removalFirst(name) == nil
		if recorded && !situation.Settled(pkg, e) && (ready || p.hasPod(name)) {
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
func (p *pass) firstRemoval() string {
	var first string
	for key, l := range situation.Sorted(p.removals) {
		e, recorded := p.out.Record.Packages[key]
		switch {
		case !recorded || l.Missing:
		case p.uninstallingNow(e):
			return e.Name
		case first == "" || p.dependsOn(e.Name, first):
			first = e.Name
		}
	}
	return first
}

// uninstallingNow reports whether the uninstall of a package has begun and continues: without a pod, one waits for the
// uninstall of what depends on it, which may have been asked for later.
func (p *pass) uninstallingNow(e record.Entry) bool {
	_, waits := p.dependent(e)
	return record.IsUninstall(e.Stage) && (!waits || p.hasPod(e.Name))
}

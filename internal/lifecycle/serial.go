package lifecycle

import (
	"cmp"

	"github.com/skyhook-operator/skyhook/internal/record"
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
// whose dependencies are complete. One that has begun lets its dependencies go first when they have work again, and has the
// turn when nobody else can use it: it may owe an interrupt, which asks for no dependency, and says what it waits for.
func (p *pass) turn() string {
	if e, running := p.interruptOwner(); running {
		return e.Name
	}
	if name := p.leavesFirst(); name != "" {
		return name
	}
	var first, begun string
	for _, name := range p.Packages.names() {
		pkg := p.Packages[name]
		if pkg.applies() {
			continue
		}
		e, recorded := find(p.out.Record, name, pkg.Version)
		ready := p.unmet(name, pkg) == nil && !p.waitsForRemoval(name)
		if recorded && !settled(pkg, e) && (ready || p.hasPod(name)) {
			return name
		}
		complete := recorded && final(pkg, e)
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

// leavesFirst is the package whose turn it is to be undone: the one that has begun, else the first by name that nothing
// is built on. Packages that go come before those that come.
func (p *pass) leavesFirst() string {
	var first string
	for _, key := range sortedKeys(p.leaving) {
		e, recorded := p.out.Record.Packages[key]
		switch {
		case !recorded || p.leaving[key].Missing:
		case p.uninstallingNow(e):
			return e.Name
		case first == "" || p.dependsOn(e.Name, first):
			first = e.Name
		}
	}
	return first
}

// uninstallingNow reports whether the uninstall of a package has begun and goes on: without a pod, one lets what is built on it
// go first, which may have become due later.
func (p *pass) uninstallingNow(e record.Entry) bool {
	_, waits := p.dependent(e)
	return uninstalling(e) && (!waits || p.hasPod(e.Name))
}

package situation

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// ConfigChanged reports whether the configMap differs from what the node applied last. An entry without hashes was
// written by an operator that kept none, and is taken as current.
func ConfigChanged(pkg Package, e record.Entry) bool {
	return e.Config != nil && len(record.ChangedKeys(e.Config, pkg.Config)) > 0
}

// InterruptsFor returns the interrupts that the package needs once its config stage is complete. After an install or
// upgrade it is the package's own; after a change, those of configInterrupts whose key or glob changed on this node.
func InterruptsFor(pkg Package, e record.Entry) []v1alpha1.Interrupt {
	if e.Changed == nil {
		if pkg.Interrupt == nil {
			return nil
		}
		return []v1alpha1.Interrupt{*pkg.Interrupt}
	}
	var list []v1alpha1.Interrupt
	for _, pattern := range slices.Sorted(maps.Keys(pkg.ConfigInterrupts)) {
		if slices.ContainsFunc(e.Changed, func(key string) bool { return matches(pattern, key) }) {
			list = append(list, pkg.ConfigInterrupts[pattern])
		}
	}
	return list
}

// Owes reports whether an interrupt has to follow the config stage of an entry, which is complete. An edit that only adds
// an interrupt owes nothing until something of the package runs again, the same on every node.
func Owes(pkg Package, e record.Entry) bool {
	return (e.Owes == nil || *e.Owes) && len(InterruptsFor(pkg, e)) > 0
}

// matches follows path.Match for globs; without a star the pattern is a key.
func matches(pattern, key string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == key
	}
	ok, err := path.Match(pattern, key)
	return err == nil && ok
}

// Unowed is an entry with the note that it owes no interrupt, if an earlier version, which noted nothing, left it so: the
// node was complete.
func Unowed(n record.Node, e record.Entry) (record.Entry, bool) {
	over := e.Stage == v1alpha1.StageConfig && e.State == v1alpha1.StateComplete
	if e.Owes != nil || !over || n.Status != v1alpha1.StatusComplete {
		return e, false
	}
	e.Owes = new(bool)
	return e, true
}

// Settled reports whether nothing is pending for the config that the package applied last.
func Settled(pkg Package, e record.Entry) bool {
	if e.State != v1alpha1.StateComplete {
		return false
	}
	return e.Stage == v1alpha1.StagePostInterrupt ||
		e.Stage == v1alpha1.StageConfig && !Owes(pkg, e) && !needsPostInterrupt(e)
}

// needsPostInterrupt reports whether an interrupt ran whose post-interrupt stage has not succeeded since. A changed
// configMap sends the package back to its config stage, but must not make it skip what comes after the interrupt.
func needsPostInterrupt(e record.Entry) bool {
	return e.Interrupt != nil && e.Stage != v1alpha1.StageInterrupt
}

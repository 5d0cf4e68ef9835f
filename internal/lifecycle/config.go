package lifecycle

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// configChanged reports whether the configMap differs from what the node applied last. An entry without hashes was
// written by an operator that kept none, and is taken as current.
func configChanged(pkg Package, e record.Entry) bool {
	return e.Config != nil && len(record.ChangedKeys(e.Config, pkg.Config)) > 0
}

// interruptsFor returns the interrupts that the package needs once its config stage is complete. After an install or
// upgrade it is the package's own; after a change, those of configInterrupts whose key or glob changed on this node.
func interruptsFor(pkg Package, e record.Entry) []v1alpha1.Interrupt {
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

// owes reports whether an interrupt has to follow the config stage of an entry, which is complete. An edit that only adds
// an interrupt owes nothing until something of the package runs again, the same on every node.
func owes(pkg Package, e record.Entry) bool {
	return (e.Owes == nil || *e.Owes) && len(interruptsFor(pkg, e)) > 0
}

// matches follows path.Match for globs; without a star the pattern is a key.
func matches(pattern, key string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == key
	}
	ok, err := path.Match(pattern, key)
	return err == nil && ok
}

// settled reports whether nothing is pending for the config that the package applied last.
func settled(pkg Package, e record.Entry) bool {
	if e.State != v1alpha1.StateComplete {
		return false
	}
	return e.Stage == v1alpha1.StagePostInterrupt ||
		e.Stage == v1alpha1.StageConfig && !owes(pkg, e) && !needsPostInterrupt(e)
}

// changedFor returns the keys that count as changed when a stage begins after last. Nil stays nil while the interrupt
// of an install or upgrade is still pending; that one covers every change.
func changedFor(pkg Package, last record.Entry, stage v1alpha1.Stage) []string {
	switch {
	case stage == v1alpha1.StageApply, stage == v1alpha1.StageUpgrade:
		return nil
	case !configChanged(pkg, last):
		return last.Changed
	}
	keys := record.ChangedKeys(last.Config, pkg.Config)
	interruptPending := last.Stage == v1alpha1.StageConfig && !settled(pkg, last)
	switch {
	case last.Stage == v1alpha1.StageApply, last.Stage == v1alpha1.StageUpgrade:
		return last.Changed
	case interruptPending && last.Changed == nil:
		return nil
	case interruptPending:
		return union(last.Changed, keys)
	default:
		return keys
	}
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

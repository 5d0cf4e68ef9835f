package lifecycle

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// changedFor returns the keys that count as changed when a stage begins after last. Nil stays nil while the interrupt
// of an install or upgrade is still pending; that one covers every change.
func changedFor(pkg situation.Package, last record.Entry, stage v1alpha1.Stage) []string {
	switch {
	case stage == v1alpha1.StageApply, stage == v1alpha1.StageUpgrade:
		return nil
	case !situation.ConfigChanged(pkg, last):
		return last.Changed
	}
	keys := record.ChangedKeys(last.Config, pkg.Config)
	interruptPending := last.Stage == v1alpha1.StageConfig && !situation.Settled(pkg, last)
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

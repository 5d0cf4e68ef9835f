package situation

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// Find returns the entry that tells what is installed of a package version, also when the record spells the version
// differently. An entry says nothing any more once work on another version began after it.
func Find(n record.Node, name, wanted string) (record.Entry, bool) {
	e, ok := n.Packages[record.Key(name, wanted)]
	if !ok {
		e, ok = spelledDifferently(n, name, wanted)
	}
	if !ok || Superseded(n, e) {
		return record.Entry{}, false
	}
	return e, true
}

func spelledDifferently(n record.Node, name, wanted string) (record.Entry, bool) {
	for _, e := range Sorted(n.Packages) {
		if e.Name == name && version.Same(e.Version, wanted) {
			return e, true
		}
	}
	return record.Entry{}, false
}

// Superseded reports whether the node turned to another version of the package after the entry's last change.
func Superseded(n record.Node, e record.Entry) bool {
	if e.Superseded {
		return true
	}
	for _, other := range n.Packages {
		if other.Name != e.Name || other.Superseded || other.NeverStarted() || version.Same(other.Version, e.Version) || other.Since.IsZero() ||
			e.Since.IsZero() {
			continue
		}
		if other.Since.After(e.Since.Time) || other.Since.Equal(&e.Since) && other.Active() && !e.Active() {
			return true
		}
	}
	return false
}

// Overtaken reports whether the record has a package version, and work on another one began after it.
func Overtaken(n record.Node, name, wanted string) bool {
	e, ok := n.Packages[record.Key(name, wanted)]
	if !ok {
		e, ok = spelledDifferently(n, name, wanted)
	}
	return ok && Superseded(n, e)
}

// Installed reports whether a version came at least to the end of its apply.
func Installed(e record.Entry) bool {
	return !e.Untouched && !record.IsUninstall(e.Stage) && (e.Stage != v1alpha1.StageApply || e.State == v1alpha1.StateComplete)
}

// Exhausted reports whether a limit ended the entry's stage.
func Exhausted(e record.Entry) bool {
	return e.State == v1alpha1.StateErroring && (e.Reason == v1alpha1.ReasonStageTimeout ||
		e.Reason == v1alpha1.ReasonRetriesExhausted)
}

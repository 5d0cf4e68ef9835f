// Package state is what the controllers know: which Skyhooks select which nodes, in which order they work there, and
// what keeps them from it; the records of nodes, deployment policies and retained definitions. Specs, policies and
// records are parsed once until they change, not once per node or pass.
package state

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Target is what one generation of a Skyhook's spec asks for.
type Target struct {
	// Selector of the nodes; selects nothing when the spec's cannot be parsed.
	Selector labels.Selector
	Packages situation.Packages
	// Invalid tells what is wrong with the spec; empty when nothing is.
	Invalid string
	// Abandoned are the nodes on which nothing is to be undone any more.
	Abandoned map[string]bool

	keys record.Keys
}

// Index keeps the Targets of the current generations. Its zero value is ready for use, by several goroutines.
type Index struct {
	// Images are the rules that packages have to keep; they do not change once the Index is in use.
	Images admission.ImageRules

	// Live reads from the API server what the cache of a process that has just begun may lack; nil where none does.
	Live client.Reader

	// Limits are the operator's, for packages that set none.
	Limits situation.Limits

	// Reapply says after what packages are applied again on a node.
	Reapply lifecycle.Reapply

	mu sync.Mutex
	// agrees says that the cache once showed what the API server did about the stop of all Skyhooks.
	agrees  bool
	targets map[types.UID]derivedTarget
	decoded map[types.UID]decoding
	// last are what the Skyhooks of the last snapshot want.
	last *wants
}

// derivedTarget is a Target, and all that it was derived from.
type derivedTarget struct {
	from   source
	target *Target
}

type source struct {
	generation            int64
	abandoned, capability string
}

// Of returns the Target of a Skyhook.
func (i *Index) Of(s *v1alpha1.Skyhook) *Target {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := source{
		s.Generation,
		s.Annotations[v1alpha1.AnnotationAbandonUninstall], s.Annotations[v1alpha1.AnnotationUninstallCapability],
	}
	if known, ok := i.targets[s.UID]; ok && known.from == now {
		return known.target
	}
	if i.targets == nil {
		i.targets = map[types.UID]derivedTarget{}
	}
	t := i.newTarget(s)
	i.targets[s.UID] = derivedTarget{from: now, target: t}
	return t
}

// Keep drops what is not of these Skyhooks, which are all there are.
func (i *Index) Keep(skyhooks []*v1alpha1.Skyhook) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.targets) <= len(skyhooks) && len(i.decoded) <= len(skyhooks) {
		return
	}
	there := make(map[types.UID]bool, len(skyhooks))
	for _, s := range skyhooks {
		there[s.UID] = true
	}
	maps.DeleteFunc(i.targets, func(uid types.UID, _ derivedTarget) bool { return !there[uid] })
	maps.DeleteFunc(i.decoded, func(uid types.UID, _ decoding) bool { return !there[uid] })
}

// Selects reports whether the Skyhook targets a node with the given labels.
func (i *Index) Selects(s *v1alpha1.Skyhook, nodeLabels map[string]string) bool {
	return i.Of(s).Selector.Matches(labels.Set(nodeLabels))
}

func (i *Index) newTarget(s *v1alpha1.Skyhook) *Target {
	selector, err := admission.Target(s)
	if err != nil {
		selector = labels.Nothing() // Check reports it
	}
	return &Target{
		keys:     record.KeysOf(s.Name),
		Selector: selector,
		Packages: situation.Prepare(s, i.Limits, func(name string) situation.Derived {
			return i.derive(s, name, s.Spec.Packages[name], situation.Derived{
				Definition: workload.DefinitionOf(s, name).Hash(), Uninstallable: capability.Enabled(s, name),
			})
		}),
		Invalid:   admission.Join(admission.Check(s, i.Images)),
		Abandoned: admission.Abandoned(s),
	}
}

// derive adds what is derived of any definition, be it the spec's or a retained one.
func (i *Index) derive(s *v1alpha1.Skyhook, name string, pkg v1alpha1.Package, d situation.Derived) situation.Derived {
	d.Hash = workload.Hash(s, pkg)
	d.Refused, d.Undigested = admission.Join(i.Images.Foreign(name, pkg)), admission.Join(i.Images.Undigested(name, pkg))
	return d
}

// InOrder sorts Skyhooks into the order in which they work on a node.
func InOrder(list []v1alpha1.Skyhook) []*v1alpha1.Skyhook {
	ordered := make([]*v1alpha1.Skyhook, len(list))
	for i := range list {
		ordered[i] = &list[i]
	}
	slices.SortFunc(ordered, rollout.Compare)
	return ordered
}

// Earlier are the Skyhooks that have to finish before s may work on the node. Those whose names are in undone have work
// left there, although the node does not show it yet.
func (at *At) Earlier(s *v1alpha1.Skyhook, undone map[string]bool) iter.Seq[rollout.Earlier] {
	return func(yield func(rollout.Earlier) bool) {
		for i, e := range at.skyhooks {
			if !rollout.Precedes(e, s) {
				continue
			}
			if s.Spec.RuntimeRequired && !e.Spec.RuntimeRequired && e.Spec.Sequencing != v1alpha1.SequencingAll &&
				taint.Has(at.node, at.taints.Runtime) {
				continue // it waits for the taint to go, and the taint for this one
			}
			if !yield(rollout.Earlier{Skyhook: e, IncompleteHere: undone[e.Name] || at.incomplete(i)}) {
				return
			}
		}
	}
}

// incomplete reports whether a Skyhook targets the node and has work left there, as far as can be read.
func (at *At) incomplete(place int) bool {
	if at.wants.of[place].deleting {
		return false
	}
	v := at.view(place)
	return v != nil && (v.unusable != nil || !v.Facts.Complete || at.StartsOver(at.wants.of[place].name))
}

// StartsOver reports whether the node has another host than the record of a Skyhook is of, or rebooted by itself since,
// so that its packages are applied again there, as soon as the node is Ready and a pass succeeds.
func (at *At) StartsOver(skyhook string) bool {
	host := record.ReadHost(at.node.Annotations[v1alpha1.AnnotationHostPrefix+skyhook])
	if at.index.Reapply.Hosts && host.Replaced(at.node.Status.NodeInfo.MachineID) {
		return true
	}
	if !at.index.Reapply.Reboots {
		return false
	}
	last, current := at.node.Annotations[v1alpha1.AnnotationBootPrefix+skyhook], at.node.Status.NodeInfo.BootID
	return last != "" && current != "" && last != current && !at.askedForReboot(at.node, at.InFlight(), at.records)
}

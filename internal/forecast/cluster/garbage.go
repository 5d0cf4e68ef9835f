package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CollectGarbage deletes the objects whose owners are gone, by UID, and lets foreground and orphaning deletions go on.
// It reports whether it did something.
func (c *Cluster) CollectGarbage() bool {
	before := c.writes
	owners := map[types.UID]client.Object{}
	for _, k := range Kinds {
		for _, o := range c.tables[k].items {
			owners[o.GetUID()] = o
		}
	}
	for _, k := range Kinds {
		for _, o := range c.tables[k].items {
			c.collect(c.tables[k], o, owners)
		}
	}
	for _, k := range Kinds {
		for _, o := range c.tables[k].items {
			c.release(c.tables[k], o)
		}
	}
	return c.writes != before
}

// collect deletes an object that nobody owns any more, or whose owner waits for it.
func (c *Cluster) collect(t *table, o client.Object, owners map[types.UID]client.Object) {
	refs := o.GetOwnerReferences()
	if len(refs) == 0 || o.GetDeletionTimestamp() != nil {
		return
	}
	for _, ref := range refs {
		owner := owners[ref.UID]
		switch {
		case !slices.Contains(Kinds, Kind(ref.Kind)):
			return // what is not stored here is taken to exist
		case owner == nil:
		case waitsFor(owner, ref):
		default:
			return
		}
	}
	uid := o.GetUID()
	// It is as it was read.
	_ = c.delete(t, "delete", o, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

func waitsFor(owner client.Object, ref metav1.OwnerReference) bool {
	return owner.GetDeletionTimestamp() != nil && ptr.Deref(ref.BlockOwnerDeletion, false) &&
		slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// release ends what a deletion waits for as far as owned objects go.
func (c *Cluster) release(t *table, o client.Object) {
	if o.GetDeletionTimestamp() == nil {
		return
	}
	if slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		c.orphan(o)
		c.unfinalize(t, o, metav1.FinalizerOrphanDependents)
		return
	}
	if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !c.blocked(o) {
		c.unfinalize(t, o, metav1.FinalizerDeleteDependents)
	}
}

func (c *Cluster) blocked(owner client.Object) bool {
	for _, k := range Kinds {
		for _, o := range c.tables[k].items {
			if slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
				return ref.UID == owner.GetUID() && ptr.Deref(ref.BlockOwnerDeletion, false)
			}) {
				return true
			}
		}
	}
	return false
}

func (c *Cluster) orphan(owner client.Object) {
	for _, k := range Kinds {
		t := c.tables[k]
		for _, o := range t.items {
			refs := slices.Clone(o.GetOwnerReferences())
			left := slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
			if len(left) == len(o.GetOwnerReferences()) {
				continue
			}
			next := t.fresh()
			t.shareTo(o, next)
			next.SetOwnerReferences(left)
			c.commit(t, "patch", o, next)
		}
	}
}

func (c *Cluster) unfinalize(t *table, o client.Object, finalizer string) {
	next := t.fresh()
	t.shareTo(o, next)
	next.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
	_, _ = c.update(t, "patch", o, next, partMain) // it is as it was read
}

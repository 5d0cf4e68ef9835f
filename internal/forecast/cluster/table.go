package cluster

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// table is objects of a kind, by namespace and name. A change makes another slice, so that what was read stays as it
// was.
type table struct {
	*kind
	items []client.Object
	// past are the items before each of the last changes, the newest last.
	past [][]client.Object
}

// remembered is how many changes a list may be behind.
const remembered = 64

func (t *table) replace(items []client.Object) {
	if len(t.past) == remembered {
		t.past = slices.Delete(t.past, 0, remembered/2)
	}
	t.past, t.items = append(t.past, t.items), items
}

// behind returns the items as they were n changes ago, or as long ago as is known.
func (t *table) behind(n int) []client.Object {
	if n = min(n, len(t.past)); n <= 0 {
		return t.items
	}
	return t.past[len(t.past)-n]
}

func (t *table) search(key client.ObjectKey) (int, bool) {
	return slices.BinarySearchFunc(t.items, key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(cmp.Compare(o.GetNamespace(), key.Namespace), cmp.Compare(o.GetName(), key.Name))
	})
}

// get returns nil when there is none.
func (t *table) get(key client.ObjectKey) client.Object {
	if i, ok := t.search(key); ok {
		return t.items[i]
	}
	return nil
}

func (t *table) put(o client.Object) {
	i, ok := t.search(client.ObjectKeyFromObject(o))
	if ok {
		items := slices.Clone(t.items)
		items[i] = o
		t.replace(items)
		return
	}
	t.replace(slices.Insert(slices.Clip(t.items), i, o))
}

func (t *table) remove(key client.ObjectKey) {
	if i, ok := t.search(key); ok {
		t.replace(slices.Delete(slices.Clone(t.items), i, i+1))
	}
}

// all returns the items as what they are.
func all[P client.Object](t *table) []P {
	out := make([]P, len(t.items))
	for i, o := range t.items {
		out[i] = o.(P)
	}
	return out
}

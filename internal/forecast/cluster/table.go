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
	// nodes are the pods of each node, in the order of items; nil until somebody asks for those of one. A drain asks
	// again and again, and would look at all pods of a fleet.
	nodes map[string][]client.Object
}

// on returns the pods of a node.
func (t *table) on(node string) []client.Object {
	if t.nodes == nil {
		t.nodes = map[string][]client.Object{}
		for _, o := range t.items {
			t.nodes[podNode(o)] = append(t.nodes[podNode(o)], o)
		}
	}
	return t.nodes[node]
}

// move keeps the pods of nodes up to date; an object that is nil is none.
func (t *table) move(old, o client.Object) {
	if t.nodes == nil {
		return
	}
	if old != nil {
		left := slices.DeleteFunc(slices.Clone(t.nodes[podNode(old)]), func(p client.Object) bool { return p == old })
		t.nodes[podNode(old)] = left
	}
	if o != nil {
		pods := t.nodes[podNode(o)]
		i, _ := search(pods, client.ObjectKeyFromObject(o))
		t.nodes[podNode(o)] = slices.Insert(slices.Clip(pods), i, o)
	}
}

func (t *table) search(key client.ObjectKey) (int, bool) { return search(t.items, key) }

func search(items []client.Object, key client.ObjectKey) (int, bool) {
	return slices.BinarySearchFunc(items, key, func(o client.Object, key client.ObjectKey) int {
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
		t.move(t.items[i], o)
		items := slices.Clone(t.items)
		items[i] = o
		t.items = items
		return
	}
	t.move(nil, o)
	t.items = slices.Insert(slices.Clip(t.items), i, o)
}

func (t *table) remove(key client.ObjectKey) {
	if i, ok := t.search(key); ok {
		t.move(t.items[i], nil)
		t.items = slices.Delete(slices.Clone(t.items), i, i+1)
	}
}

// as returns items as what they are.
func as[P client.Object](items []client.Object) []P {
	out := make([]P, len(items))
	for i, o := range items {
		out[i] = o.(P)
	}
	return out
}

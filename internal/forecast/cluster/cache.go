package cluster

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

// rule is what the operator's cache of a kind holds.
type rule struct {
	// namespace that alone is cached; empty for all.
	namespace string
	// selector of labels; nil for all.
	selector labels.Selector
	// transform cuts objects down.
	transform toolscache.TransformFunc
}

// rulesOf reads them from what the operator itself gives to its manager.
func rulesOf(namespace string) map[Kind]rule {
	options := settings.CacheOptions(namespace)
	rules := map[Kind]rule{}
	for _, k := range Kinds {
		rules[k] = rule{transform: options.DefaultTransform}
	}
	for o, by := range options.ByObject {
		k, err := kindOf(o)
		if err != nil {
			continue // nothing of it is stored, so nothing of it can be cached
		}
		r := rule{selector: by.Label, transform: options.DefaultTransform}
		if by.Transform != nil {
			r.transform = by.Transform
		}
		for only := range maps.Keys(by.Namespaces) {
			r.namespace = only
		}
		if by.Field != nil {
			r.namespace, _ = by.Field.RequiresExactMatch("metadata.namespace")
		}
		rules[k] = r
	}
	return rules
}

func (r rule) selects(o client.Object) bool {
	return o != nil && (r.namespace == "" || o.GetNamespace() == r.namespace) &&
		(r.selector == nil || r.selector.Matches(labels.Set(o.GetLabels())))
}

// change is a write on its way to a cache; gone says that the object left what the cache holds.
type change struct {
	object client.Object
	gone   bool
}

// cache holds a kind as one process sees it: behind by the queued changes.
type cache struct {
	*table
	rule
	queue []change
}

// slim cuts an object down for the cache. Transforms change their argument, and at most what hangs directly on it.
func (c *cache) slim(o client.Object) client.Object {
	out := c.fresh()
	c.shareTo(o, out)
	if c.transform != nil {
		if _, err := c.transform(out); err != nil {
			panic(err) // ours know no error
		}
	}
	return out
}

// look is what the cache would hold if it had just been listed.
func (c *cache) look(server *table) []client.Object {
	var items []client.Object
	for _, o := range server.items {
		if c.selects(o) {
			items = append(items, c.slim(o))
		}
	}
	return items
}

// begin lists what the server had at some time. What differs from now is on its way; the states between are not.
func (c *cache) begin(server *table, items []client.Object) {
	then := &table{kind: c.kind, items: items}
	c.items, c.nodes = c.look(then), nil
	for _, o := range server.items {
		if had := then.get(client.ObjectKeyFromObject(o)); had != o {
			c.notice(had, o)
		}
	}
	for _, o := range then.items {
		if server.get(client.ObjectKeyFromObject(o)) == nil {
			c.notice(o, nil)
		}
	}
}

// notice queues a write. Objects that come to be selected are new to the cache, those that cease to be are gone.
func (c *cache) notice(old, o client.Object) {
	switch {
	case c.selects(o):
		c.queue = append(c.queue, change{object: c.slim(o)})
	case c.selects(old):
		last := old
		if o != nil {
			last = o
		}
		c.queue = append(c.queue, change{object: c.slim(last), gone: true})
	}
}

func (c *cache) deliver(n int) []Event {
	n = min(n, len(c.queue))
	events := make([]Event, 0, n)
	for _, w := range c.queue[:n] {
		if e, ok := c.take(w); ok {
			events = append(events, e)
		}
	}
	c.queue = c.queue[n:]
	return events
}

// take puts one change into the cache; false when nobody hears of it.
func (c *cache) take(w change) (Event, bool) {
	key := client.ObjectKeyFromObject(w.object)
	had := c.get(key)
	switch {
	case w.gone && had == nil:
		return Event{}, false
	case w.gone:
		c.remove(key)
		return Event{Type: Deleted, Kind: c.name, Old: w.object}, true
	}
	c.put(w.object)
	if had == nil {
		return Event{Type: Created, Kind: c.name, New: w.object}, true
	}
	return Event{Type: Updated, Kind: c.name, Old: had, New: w.object}, true
}

// relist tells of what is there before what is gone, as an informer does; what has not changed is not told.
func (c *cache) relist(server *table) []Event {
	before := c.items
	now := &table{kind: c.kind, items: c.look(server)}
	c.queue = nil
	var events []Event
	for i, o := range now.items {
		switch had := c.get(client.ObjectKeyFromObject(o)); {
		case had == nil:
			events = append(events, Event{Type: Created, Kind: c.name, New: o})
		case had.GetResourceVersion() != o.GetResourceVersion():
			events = append(events, Event{Type: Updated, Kind: c.name, Old: had, New: o})
		default:
			now.items[i] = had
		}
	}
	for _, o := range before {
		if now.get(client.ObjectKeyFromObject(o)) == nil {
			events = append(events, Event{Type: Deleted, Kind: c.name, Old: o, Unknown: true})
		}
	}
	c.items, c.nodes = slices.Clip(now.items), nil
	return events
}

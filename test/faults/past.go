package faults

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

// remembered is how many changes of a kind a list may be behind.
const remembered = 64

// past is what the API server had, by kind: the objects before each of the last changes, the newest last.
type past struct {
	cluster *cluster.Cluster
	now     map[cluster.Kind][]client.Object
	before  map[cluster.Kind][][]client.Object
}

func newPast(c *cluster.Cluster) past {
	return past{cluster: c, now: map[cluster.Kind][]client.Object{}, before: map[cluster.Kind][][]client.Object{}}
}

// changed is called after each write.
func (p past) changed(k cluster.Kind) {
	if len(p.before[k]) == remembered {
		p.before[k] = slices.Delete(p.before[k], 0, remembered/2)
	}
	p.before[k], p.now[k] = append(p.before[k], p.now[k]), p.cluster.Objects(k)
}

// behind are the objects as they were n changes ago, or as long ago as is known.
func (p past) behind(k cluster.Kind, n int) []client.Object {
	if n = min(n, len(p.before[k])); n <= 0 {
		return p.now[k]
	}
	return p.before[k][len(p.before[k])-n]
}

// view is what a cache begins with that is that many changes behind.
func (p past) view(stale func(cluster.Kind) int) map[cluster.Kind][]client.Object {
	view := map[cluster.Kind][]client.Object{}
	for _, k := range cluster.Kinds {
		view[k] = p.behind(k, stale(k))
	}
	return view
}

// audit keeps the text of every object that is stored or cached: what operators read is shared, and nobody may change it.
// Nil keeps none.
type audit map[client.Object]string

func (a audit) note(o client.Object) {
	if a != nil && o != nil {
		a[o] = textOf(o)
	}
}

func textOf(o client.Object) string {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // whatever is stored came as JSON or could have
	}
	return string(raw)
}

// altered names the versions of objects that somebody changed, as Node/name@version.
func (a audit) altered() []string {
	var list []string
	for o, text := range a {
		if textOf(o) != text {
			list = append(list, fmt.Sprintf("%s/%s@%s", kindOf(o), o.GetName(), o.GetResourceVersion()))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

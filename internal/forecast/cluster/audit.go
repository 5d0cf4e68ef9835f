package cluster

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remember keeps what an object looks like when it is stored.
func (c *Cluster) remember(o client.Object) {
	if !c.Audit {
		return
	}
	if c.texts == nil {
		c.texts = map[client.Object]string{}
	}
	c.texts[o] = textOf(o)
}

func textOf(o client.Object) string {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // whatever is stored came as JSON or could have
	}
	return string(raw)
}

// Altered names the versions of objects that somebody changed although they were only shared, as Node/name@version.
// Only those that were stored since Audit was set can be told.
func (c *Cluster) Altered() []string {
	var list []string
	for o, text := range c.texts {
		if textOf(o) != text {
			k, _ := kindOf(o)
			list = append(list, fmt.Sprintf("%s/%s@%s", k, o.GetName(), o.GetResourceVersion()))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

//go:build linux

package testbed

import "net/url"

// Join is what a node brings along when it registers, as nodes of cloud providers do. A node that reboots keeps it; one
// of a cluster that is started over is a new node without.
type Join struct {
	// Labels beside those that every node has, each "key=value".
	Labels []string
	// Taints, each "key=value:effect".
	Taints []string
}

func (j Join) query() url.Values { return url.Values{"label": j.Labels, "taint": j.Taints} }

func readJoin(q url.Values) Join { return Join{Labels: q["label"], Taints: q["taint"]} }

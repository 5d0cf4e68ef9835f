package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// Options say how to look ahead.
type Options struct {
	// Operator are the operator's settings.
	Operator settings.Options
	// Now is when it begins.
	Now time.Time
	// Ahead is how far to look; zero asks only what the operator decides now.
	Ahead time.Duration
	// Node, if it is set, is the only one that anything is decided about: others stay as they are. Of thousands of nodes,
	// that takes a small part of the time.
	Node string
	// Takes tells how long a stage of a Skyhook takes on a node.
	Takes func(skyhook string, s Step) time.Duration
	// Interrupted ends it with ErrInterrupted when it is closed: thousands of nodes take many seconds. May be nil.
	Interrupted <-chan struct{}
	// Each, if it is set, is called with the copy of the cluster whenever nothing is left to do now, and nothing happens
	// before next; zero for nothing any more. What it changes is dealt with, as what kubelets change.
	Each func(c client.Client, now, next time.Time)
}

// ErrInterrupted is the end of a forecast that nobody waits for any more.
var ErrInterrupted = errors.New("the look ahead was interrupted")

// Forecast is what would happen.
type Forecast struct {
	Start time.Time `json:"start"`
	// End is when nothing happens any more, or how far it was looked.
	End time.Time `json:"end"`
	// Nodes are those on which something happens, in the order in which they begin.
	Nodes []Node `json:"nodes"`
	// Skyhooks are as they are in the end, by name, and so are Cluster's nodes.
	Skyhooks []v1alpha1.Skyhook `json:"-"`
	Cluster  []corev1.Node      `json:"-"`
	// Decided are the waits of the last decision for each node, by node and Skyhook.
	Decided map[NodeOf][]record.Wait `json:"-"`
	// Failing are the passes of the operator that fail again and again, each as what it works on and the error: the rest
	// may be less than what would happen.
	Failing []string `json:"failing,omitempty"`
}

// NodeOf is a Skyhook on a node.
type NodeOf struct {
	Node    string `json:"node"`
	Skyhook string `json:"skyhook"`
}

// Node is what happens to one node for one Skyhook.
type Node struct {
	NodeOf
	// Order is its place in the rollout; Compartment and Batch are where it belongs.
	Order       int32  `json:"order"`
	Compartment string `json:"compartment,omitempty"`
	Batch       int    `json:"batch,omitempty"`
	// Start is when it gets its permit; End is when its last step ends, zero if that does not happen.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	// Steps are the stages that run, in order.
	Steps []Step `json:"steps"`
	// Cordoned says that no new workloads come to the node for a while.
	Cordoned bool `json:"cordoned,omitempty"`
	// Evicted are the pods that have to leave, as namespace/name.
	Evicted []string `json:"evicted,omitempty"`
}

// Step is one stage of a package on a node.
type Step struct {
	Package string         `json:"package"`
	Version string         `json:"version"`
	Stage   v1alpha1.Stage `json:"stage"`
	// Interrupt is its type in a stage that is one.
	Interrupt v1alpha1.InterruptType `json:"interrupt,omitempty"`
	Start     time.Time              `json:"start"`
	// End is zero while it has none.
	End time.Time `json:"end,omitzero"`
}

// Disturbed reports whether an interrupt runs on the node.
func (n *Node) Disturbed() bool {
	return slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Interrupt != "" })
}

// Run looks ahead. The snapshot is left alone.
func Run(s Snapshot, o Options) (Forecast, error) {
	w, err := newWorld(s, o)
	if err != nil {
		return Forecast{}, err
	}
	if err := w.run(); err != nil {
		return Forecast{}, err
	}
	return w.forecast(), nil
}

func (w *world) forecast() Forecast {
	f := Forecast{Start: w.options.Now, End: w.moved, Decided: w.decided}
	for _, n := range w.journal {
		open := slices.ContainsFunc(n.Steps, func(s Step) bool { return s.End.IsZero() })
		if !open && len(n.Steps) > 0 {
			n.End = n.Steps[len(n.Steps)-1].End
		}
		f.Nodes = append(f.Nodes, *n)
	}
	slices.SortStableFunc(f.Nodes, func(a, b Node) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Skyhook, b.Skyhook), cmp.Compare(a.Order, b.Order),
			cmp.Compare(a.Node, b.Node))
	})
	for _, what := range slices.Sorted(maps.Keys(w.failing)) {
		f.Failing = append(f.Failing, fmt.Sprintf("%s: %v", what, w.failing[what]))
	}
	for _, s := range w.cluster.Skyhooks() {
		f.Skyhooks = append(f.Skyhooks, *s)
	}
	for _, n := range w.cluster.Nodes() {
		f.Cluster = append(f.Cluster, *n)
	}
	return f
}

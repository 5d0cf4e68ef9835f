package state

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Shared is what the controllers of nodes, Skyhooks and policies in one operator share.
type Shared struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// CachedNodes are all nodes in the cache of Client, which need not be copied into a list then: 8 MB of 10,000. Nil
	// lists them.
	CachedNodes func() []*corev1.Node
	// CachedPods are the package pods on a node in that cache: each event of a node asks for them, so they are found
	// without what a list allocates. Nil lists them.
	CachedPods func(node string) ([]*corev1.Pod, error)
	// Live reads from the API server, for the rare question that the cache cannot answer.
	Live     client.Reader
	Events   events.EventRecorder
	Clock    clock.PassiveClock
	Targets  *Index
	Records  *Records
	Policies *Policies
	// Transitions are what nodes went through, for the events of their Skyhooks; nil keeps none.
	Transitions *Transitions
	// Durations are how long stages took, for the history; nil keeps none.
	Durations *Durations
	// Metrics are the series of Skyhooks; nil keeps none.
	Metrics  *metrics.Store
	Workload workload.Options
	// Version of the operator, which it writes into records and Skyhooks.
	Version string
}

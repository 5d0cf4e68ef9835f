package node

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

// evictions are requests for pods of one node to leave it. The API server may take its time, as it may have to ask
// webhooks about each, so they run beside the passes over the node: those of other nodes need the worker.
type evictions struct {
	skyhook string
	// wanted says that the present pass asks for them as well.
	wanted bool
	cancel context.CancelFunc
	// done is closed when all have been answered, by what follows.
	done     chan struct{}
	accepted []drain.Pod
	refused  map[types.UID]string
	err      error
}

// evict asks pods to leave the node, unless those asked before have yet to be answered. Refused says, by UID, which the API
// server did not let go and why, as far as it has answered.
func (i *item) evict(ctx context.Context, pods []drain.Pod, o drain.Options) (refused map[types.UID]string, err error) {
	p := i.pass
	asked := p.known.evictions
	if asked == nil {
		asked = p.reconciler.begin(ctx, i.skyhook.Name, pods, o)
		p.known.evictions = asked
	}
	p.confirmed = false // they may take long
	if asked.wanted = true; asked.skyhook != i.skyhook.Name || !asked.answered(p.reconciler.Patience) {
		return nil, nil
	}
	p.known.evictions = nil
	i.reportEvictions(ctx, p.known.drain.Evicted(asked.accepted))
	if asked.err != nil {
		err = fmt.Errorf("evict pods from node %s: %w", p.node.Name, asked.err)
	}
	return asked.refused, err
}

// begin sends the requests. They end when nobody wants them any more, or the operator ends.
func (r *Reconciler) begin(ctx context.Context, skyhook string, pods []drain.Pod, o drain.Options) *evictions {
	ctx, cancel := context.WithCancel(ctx)
	e := &evictions{skyhook: skyhook, cancel: cancel, done: make(chan struct{})}
	o.Memory = nil // that is of passes
	work := func() {
		defer close(e.done)
		defer cancel()
		e.accepted, e.refused, e.err = r.Evictor.Evict(ctx, pods, o)
	}
	if r.Patience > 0 {
		go work()
	} else {
		work()
	}
	return e
}

// answered waits a while for all answers.
func (e *evictions) answered(patience time.Duration) bool {
	if patience == 0 {
		<-e.done
		return true
	}
	select {
	case <-e.done:
		return true
	case <-time.After(patience):
		return false
	}
}

// dropEvictions ends those that no Skyhook asks for any more: all pods are gone, or somebody paused it.
func (p *pass) dropEvictions(ctx context.Context) {
	asked := p.known.evictions
	if asked == nil {
		return
	}
	if asked.wanted {
		asked.wanted = false
		return
	}
	asked.cancel()
	p.known.evictions = nil
	for _, i := range p.items {
		if i.skyhook.Name == asked.skyhook && asked.answered(p.reconciler.Patience) {
			i.reportEvictions(ctx, asked.accepted)
		}
	}
}

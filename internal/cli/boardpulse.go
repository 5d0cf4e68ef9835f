package cli

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// The board says within ten seconds that nothing answers: it asks this often, and waits so long for an answer.
const (
	pulseEvery    = 4 * time.Second
	pulsePatience = 4 * time.Second
)

// pulse asks the API server for next to nothing, again and again. A watch of a server that hangs has no error, and looks
// like that of a cluster where nothing happens.
func (f *fleet) pulse() {
	ticks := time.NewTicker(pulseEvery)
	defer ticks.Stop()
	for answered := f.gauge.now(); ; {
		asked := f.gauge.now()
		if f.answers() {
			answered = asked
			f.hear(time.Time{})
		} else {
			f.hear(answered)
		}
		select {
		case <-f.ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// answers reports whether there is an answer in time, whatever it is: a refusal is for the watches to tell.
func (f *fleet) answers() bool {
	ctx, stop := context.WithTimeout(f.ctx, pulsePatience)
	defer stop()
	_ = f.client.List(ctx, &v1alpha1.SkyhookList{}, client.Limit(1))
	return ctx.Err() == nil
}

// hear takes since when there is no answer; zero where there is one.
func (f *fleet) hear(unheard time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.unheard.Equal(unheard) {
		f.unheard = unheard
		f.wake()
	}
}

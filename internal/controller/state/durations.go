package state

import (
	"sync"
	"time"

	"github.com/skyhook-operator/skyhook/internal/history"
)

// Durations are how long stages took since their Skyhook was planned last. They are taken down once, by the pass that
// recorded the end of a stage, and a restart loses them: what is lost is never measured again. Nil keeps none. It is
// ready for use, by several goroutines.
type Durations struct {
	mu sync.Mutex
	// of is by name of the Skyhook.
	of map[string]history.Stages
}

// Add notes a run.
func (d *Durations) Add(skyhook string, k history.Key, took time.Duration) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]history.Stages{}
	}
	d.of[skyhook] = d.of[skyhook].Add(k, took)
}

// Take returns what was noted of a Skyhook, and forgets it.
func (d *Durations) Take(skyhook string) history.Stages {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.of[skyhook]
	delete(d.of, skyhook)
	return taken
}

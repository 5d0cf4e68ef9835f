package lifecycle

import (
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Unreadable decides for a node whose package states cannot be read, or are not to be believed, as why tells. They are
// left as they are, so that nothing gets lost, and nothing starts. What runs may end, but nothing is retried, and the
// node gives back its permit and the interrupt in flight, so that it holds up nobody else.
func Unreadable(o Observation, why situation.Hold) Decision {
	d := Decision{Record: o.Record, InFlight: o.InFlight.Clone()}
	left, interrupts := 0, o.Node.InterruptPods
	for _, pod := range o.Pods {
		if ended := pod.Outcome == Done || pod.Outcome == Lost; !ended {
			left++
			if record.IsInterrupt(pod.Stage) {
				interrupts++
			}
		}
		if runs := pod.Outcome == Running || pod.Outcome == Failing && pod.Retrying; !runs && !pod.Terminating {
			d.take(Step{Delete: &pod})
		}
	}
	d.Record.Status = why.Status
	_, now := presentTimes(o.Record, o.Now)
	d.Waits = []record.Wait{why.Wait}
	d.Record.Wait = waitSince(why.Wait, o.Record.Wait, now)
	if o.InFlight.OwnedBy(o.Skyhook) && interrupts == 0 {
		d.InFlight = nil
	}
	if o.Permit != nil && left == 0 {
		d.Record.FinishedPermit = o.Permit.Token()
	}
	return d
}

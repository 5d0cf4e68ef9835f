package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Withhold decides for a node of which it is not known whether all its package pods were observed, or which images they
// run: everything stays as it is. A message tells people why; without one the record tells of passes that fail, or what
// it told before.
func Withhold(o Observation, message string) Decision {
	d := Decision{Record: o.Record, InFlight: o.InFlight.Clone()}
	_, now := presentTimes(o.Record, o.Now)
	switch {
	case message != "":
		w := record.Wait{Reason: v1alpha1.ReasonWaitingForOtherPods, Message: message, Frees: record.FreesAdministrator}
		d.Record.Wait = waitSince(w, o.Record.Wait, now)
	case o.Failed != "":
		d.Record.Wait = FailedWait(o.Record.Wait, o.Failed, now)
	}
	return d
}

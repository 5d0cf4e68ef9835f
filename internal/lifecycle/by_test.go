package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// TestWaitNamesWhatHolds: who asks hears which pod it is; the record does not keep it, as only the message is for people.
func TestWaitNamesWhatHolds(t *testing.T) {
	o := observation(see(spec(pkg(a).interrupt(reboot)), ourCordon, drainLeft(protectedPod)))
	o.Drain.By = "default/precious"
	d := lifecycle.Next(o)
	if len(d.Waits) != 1 || d.Waits[0].By != "default/precious" {
		t.Errorf("waits are %+v", d.Waits)
	}
	if w := d.Record.Wait; w == nil || w.Reason != "ProtectedPod" || w.By != "" {
		t.Errorf("the record has %+v", w)
	}
}

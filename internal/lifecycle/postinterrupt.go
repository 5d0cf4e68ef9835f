package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// carry keeps the interrupt in the entry of the stage that begins after last, until post-interrupt has succeeded.
func carry(e *record.Entry, last record.Entry) {
	over := last.Stage == v1alpha1.StagePostInterrupt && last.State == v1alpha1.StateComplete
	if e.Stage == v1alpha1.StageConfig && !over || e.Stage == v1alpha1.StagePostInterrupt {
		e.Interrupt, e.BootID = last.Interrupt, last.BootID
	}
}

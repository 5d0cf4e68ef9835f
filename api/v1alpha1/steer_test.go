package v1alpha1_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestSteering: every spelling of true counts, and nothing else.
func TestSteering(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "t": true, "1": true,
		"false": false, "0": false, "": false, "yes": false, "on": false, "oui": false,
	} {
		s := &v1alpha1.Skyhook{}
		s.Annotations = map[string]string{v1alpha1.AnnotationPause: value, v1alpha1.AnnotationDisable: value}
		ignored := v1alpha1.Ignored(map[string]string{v1alpha1.LabelIgnore: value})
		if s.Paused() != want || s.Disabled() != want || ignored != want {
			t.Errorf("%q: paused %t, disabled %t, ignored %t", value, s.Paused(), s.Disabled(), ignored)
		}
	}
}

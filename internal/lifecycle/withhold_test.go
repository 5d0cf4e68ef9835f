package lifecycle_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestWithhold: nothing changes but what is told, and since when it lasts.
func TestWithhold(t *testing.T) {
	o := observation(see(spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a))))
	o.InFlight = &record.Interrupt{Skyhook: "other", Run: "r9"}
	before := &record.Wait{
		Reason: v1alpha1.ReasonEvicting, Message: "before",
		Since: metav1.NewTime(o.Now.Add(-time.Hour)),
	}
	o.Record.Wait = before
	silent := lifecycle.Withhold(o, "")
	if want := (lifecycle.Decision{Record: o.Record, InFlight: o.InFlight}); !reflect.DeepEqual(silent, want) {
		t.Errorf("silent: %+v", silent)
	}
	o.Failed = "forbidden"
	if w := lifecycle.Withhold(o, "").Record.Wait; w == nil || w.Reason != v1alpha1.ReasonPassFailed {
		t.Errorf("while passes fail: %+v", w)
	}
	o.Failed = ""
	told := lifecycle.Withhold(o, "the API server is away")
	w := told.Record.Wait
	if w == nil || w.Reason != v1alpha1.ReasonWaitingForOtherPods || w.Message != "the API server is away" ||
		!w.Since.Time.Equal(o.Now) {
		t.Errorf("told: %+v", w)
	}
	o.Record, o.Now = told.Record, o.Now.Add(time.Minute)
	if again := lifecycle.Withhold(o, "the API server is away"); !reflect.DeepEqual(again, told) {
		t.Errorf("told again: %+v", again.Record.Wait)
	}
	if told.Record.Wait = before; !reflect.DeepEqual(told, silent) {
		t.Errorf("more than what it waits for changes: %+v", told)
	}
}

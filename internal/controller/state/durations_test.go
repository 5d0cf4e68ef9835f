package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/history"
)

func TestDurations(t *testing.T) {
	apply := history.Key{Package: "a", Version: "1.0.0", Stage: v1alpha1.StageApply}
	all := &state.Durations{}
	all.Add("demo", apply, 3*time.Second)
	all.Add("demo", apply, 5*time.Second)
	all.Add("other", apply, 7*time.Second)
	want := history.Stages(nil).Add(apply, 3*time.Second).Add(apply, 5*time.Second)
	if d := cmp.Diff(want, all.Take("demo")); d != "" {
		t.Errorf("taken (-want +got):\n%s", d)
	}
	if again := all.Take("demo"); again != nil {
		t.Errorf("taken again: %+v", again)
	}
	var none *state.Durations
	none.Add("demo", apply, time.Second)
	if got := none.Take("demo"); got != nil {
		t.Errorf("of none: %+v", got)
	}
}

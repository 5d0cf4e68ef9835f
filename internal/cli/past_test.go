package cli

import (
	"slices"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
)

// TestChangedAfterRollback: what a rollout changed is told against the rollout before it, also where a definition that was
// in the spec before is in it again.
func TestChangedAfterRollback(t *testing.T) {
	definition := func(revision, version string, generation int64) retained {
		return retained{Package: "driver", Version: version, Revision: revision, Generation: generation, Spec: v1alpha1.Package{Version: version}}
	}
	rollout := func(generation int64, revision string) pastRollout {
		return pastRollout{Rollout: history.Rollout{Generation: generation, Definitions: map[string]string{"driver": revision}}}
	}
	p := past{
		Rollouts:    []pastRollout{rollout(3, "good"), rollout(2, "bad"), rollout(1, "good")},
		Definitions: []retained{definition("bad", "2.0.0", 2), definition("good", "1.0.0", 3)},
	}
	p.join()
	for i, want := range [][]string{{"package driver goes from 2.0.0 to 1.0.0"}, {"package driver goes from 1.0.0 to 2.0.0"}, nil} {
		if got := p.Rollouts[i].Changed; !slices.Equal(got, want) {
			t.Errorf("generation %d: %q, want %q", p.Rollouts[i].Generation, got, want)
		}
	}
}

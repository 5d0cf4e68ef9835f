package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestMergingDoesNotChangeTheSpec: services that are merged are sorted in a copy, and not in the cached spec.
func TestMergingDoesNotChangeTheSpec(t *testing.T) {
	s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	for name, services := range map[string][]string{"a": {"x", "c"}, "b": {"k", "b"}} {
		s.Spec.Packages[name] = v1alpha1.Package{
			Image: name, Version: "1.0.0",
			Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: services},
		}
	}
	before := s.DeepCopy()
	spec := lifecycle.Prepare(s, derived)
	d := lifecycle.Next(lifecycle.Observation{
		Wanted: lifecycle.Wanted{Packages: spec}, Permit: new(permit), Now: now,
		ConfigReady: map[string]bool{"a": true, "b": true},
		Record: record.Node{
			Cordoned: true,
			Packages: entries(t, "a@1.0.0 config:complete; b@1.0.0 config:complete", lifecycle.Wanted{Packages: spec}),
		},
		Node: lifecycle.Node{Ready: true, BootID: "b1", Unschedulable: true}, Drain: &lifecycle.Drain{Clear: true},
	})
	if len(d.Start) != 1 || !cmp.Equal(d.Start[0].Interrupt.Services, []string{"b", "c", "k", "x"}) {
		t.Fatalf("nothing was merged: %+v", d.Start)
	}
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("the spec changed:\n%s", diff)
	}
}

// TestVersionsThatAreNone: an empty text and one that is no version are neither older nor newer than a version.
func TestVersionsThatAreNone(t *testing.T) {
	for _, installed := range []string{"", "latest", "1.0.0"} {
		for _, wanted := range []string{"", "latest", "2.0.0"} {
			s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{"a": {
				Image:   "a",
				Version: wanted,
			}}}}
			entry := record.Entry{Name: "a", Version: installed, Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete}
			d := lifecycle.Next(lifecycle.Observation{
				Wanted: lifecycle.Wanted{Packages: lifecycle.Prepare(s, derived)}, Permit: new(permit), Now: now,
				ConfigReady: map[string]bool{"a": true}, Record: record.Node{Packages: map[string]record.Entry{entry.Key(): entry}},
			})
			var got v1alpha1.Stage
			if len(d.Start) > 0 {
				got = d.Start[0].Stage
			}
			want := v1alpha1.StageApply
			switch {
			case installed == wanted:
				want = "" // the same text is the same version, whatever it says
			case installed == "1.0.0" && wanted == "2.0.0":
				want = v1alpha1.StageUpgrade
			}
			if got != want {
				t.Errorf("installed %q, wanted %q: starts %q, want %q", installed, wanted, got, want)
			}
		}
	}
}

func derived(string) lifecycle.Derived { return lifecycle.Derived{Hash: "1"} }

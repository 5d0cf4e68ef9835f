package faults

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// entries are the package versions that a node remembers of the Skyhook gpu, with their stages and states.
func (s Scene) entries(node string) map[string]string {
	found := map[string]string{}
	n := s.w.node(node)
	r, err := record.Read("gpu", n.Annotations)
	s.w.must(err)
	for key, e := range r.Packages {
		found[key] = string(e.Stage) + " " + string(e.State)
	}
	return found
}

// mistyped is a world whose package has a version without an image, which its nodes cannot pull.
func mistyped(t *testing.T, from string, change func(*v1alpha1.SkyhookSpec)) Scene {
	t.Helper()
	s := NewScene(2, false, func(p *Plan, spec *v1alpha1.SkyhookSpec) {
		p.Scripts = []Script{{Kind: scriptPull, Version: "9.9.9"}}
		spec.InterruptionBudget.Count = new(2)
		pkg := spec.Packages["driver"]
		pkg.Version, pkg.Uninstall = "9.9.9", &v1alpha1.Uninstall{Enabled: new(true)}
		if from != "" {
			pkg.Version = from
		}
		spec.Packages["driver"] = pkg
		change(spec)
	})
	s.Pass(5 * time.Minute)
	if from != "" {
		s.Skyhook(ofVersion("9.9.9"))
		s.Pass(5 * time.Minute)
	}
	if got := s.entries("n00")["driver|9.9.9"]; got != "apply erroring" && got != "upgrade erroring" {
		t.Fatalf("the mistyped version is %q: %v", got, s.entries("n00"))
	}
	return s
}

func ofVersion(is string) func(*v1alpha1.Skyhook) {
	return func(s *v1alpha1.Skyhook) {
		pkg := s.Spec.Packages["driver"]
		pkg.Version = is
		s.Spec.Packages["driver"] = pkg
	}
}

// TestPackageThatNeverRan: a version without an image is no obstacle: whatever is done about it, nothing of it is
// uninstalled, as nothing of it ran, and nothing of it is left.
func TestPackageThatNeverRan(t *testing.T) {
	for _, c := range []struct {
		name, from string
		change     func(*v1alpha1.SkyhookSpec)
		then       func(Scene)
		gone       bool
		want       map[string]string
	}{
		{name: "lowered", then: func(s Scene) { s.Skyhook(ofVersion("1.0.0")) }, want: map[string]string{"driver|1.0.0": "config complete"}},
		{name: "raised", then: func(s Scene) { s.Skyhook(ofVersion("10.0.0")) }, want: map[string]string{"driver|10.0.0": "config complete"}},
		{name: "removed", then: func(s Scene) {
			s.Skyhook(func(s *v1alpha1.Skyhook) { delete(s.Spec.Packages, "driver") })
		}, want: map[string]string{}},
		{name: "to be uninstalled", then: func(s Scene) {
			s.Skyhook(func(s *v1alpha1.Skyhook) {
				pkg := s.Spec.Packages["driver"]
				pkg.Uninstall.Apply = true
				s.Spec.Packages["driver"] = pkg
			})
		}, want: map[string]string{}},
		{name: "the Skyhook is deleted", then: func(s Scene) { s.Delete() }, gone: true, want: map[string]string{}},
		{name: "lowered while paused, and resumed", then: func(s Scene) {
			s.Skyhook(annotated(v1alpha1.AnnotationPause, "true"))
			s.Pass(5 * time.Minute)
			s.Skyhook(ofVersion("1.0.0"))
			s.Pass(5 * time.Minute)
			s.Skyhook(annotated(v1alpha1.AnnotationPause, ""))
		}, want: map[string]string{"driver|1.0.0": "config complete"}},
		{name: "lowered while disabled, and enabled", then: func(s Scene) {
			s.Skyhook(annotated(v1alpha1.AnnotationDisable, "true"))
			s.Pass(5 * time.Minute)
			s.Skyhook(ofVersion("1.0.0"))
			s.Pass(5 * time.Minute)
			s.Skyhook(annotated(v1alpha1.AnnotationDisable, ""))
		}, want: map[string]string{"driver|1.0.0": "config complete"}},
		{name: "back to the version that is installed", from: "1.0.0", then: func(s Scene) { s.Skyhook(ofVersion("1.0.0")) }, want: map[string]string{"driver|1.0.0": "config complete"}},
		{name: "upgraded to another", from: "1.0.0", then: func(s Scene) { s.Skyhook(ofVersion("2.0.0")) }, want: map[string]string{"driver|2.0.0": "config complete"}},
		{name: "deleted where an older one is installed", from: "1.0.0", then: func(s Scene) { s.Delete() }, gone: true, want: map[string]string{}},
		{name: "after its time limit", change: func(s *v1alpha1.SkyhookSpec) {
			pkg := s.Packages["driver"]
			pkg.StageTimeout = &metav1.Duration{Duration: 2 * time.Minute}
			s.Packages["driver"] = pkg
		}, then: func(s Scene) { s.Skyhook(ofVersion("1.0.0")) }, want: map[string]string{"driver|1.0.0": "config complete"}},
		{name: "its pods were deleted by hand", then: func(s Scene) {
			for _, pod := range s.w.cluster.Pods() {
				s.w.remove(pod.DeepCopy())
			}
			s.Pass(5 * time.Minute)
			s.Skyhook(ofVersion("1.0.0"))
		}, want: map[string]string{"driver|1.0.0": "config complete"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change == nil {
				c.change = func(*v1alpha1.SkyhookSpec) {}
			}
			s := mistyped(t, c.from, c.change)
			c.then(s)
			s.Pass(20 * time.Minute)
			if got := s.w.skyhook("gpu") == nil; got != c.gone {
				t.Errorf("gone: %t; %s", got, s.w.state())
			}
			for _, node := range []string{"n00", "n01"} {
				if got := s.entries(node); !maps.Equal(got, c.want) {
					t.Errorf("%s has %v, want %v", node, got, c.want)
				}
			}
			s.noFindings(t)
		})
	}
}

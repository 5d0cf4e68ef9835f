package rollout_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestImageMoved: people hear of a moved tag until they said which image they mean.
func TestImageMoved(t *testing.T) {
	sha := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	pinOf := func(version, image, moved string) lifecycle.Pin {
		return lifecycle.Pin{
			PinKey: lifecycle.PinKey{Package: "a", Version: version, Image: image}, Digest: sha("1"), Moved: moved, Node: "node-7",
		}
	}
	for _, c := range []struct {
		name string
		pin  lifecycle.Pin
		pkg  v1alpha1.Package
		told bool
	}{
		{"pinned", pinOf("1.0.0", "x/a", ""), v1alpha1.Package{Version: "1.0.0", Image: "x/a"}, false},
		{"moved", pinOf("1.0.0", "x/a", sha("2")), v1alpha1.Package{Version: "1.0.0", Image: "x/a:ignored"}, true},
		{"another version by now", pinOf("1.0.0", "x/a", sha("2")), v1alpha1.Package{Version: "1.1.0", Image: "x/a"}, false},
		{"another image by now", pinOf("1.0.0", "x/a", sha("2")), v1alpha1.Package{Version: "1.0.0", Image: "y/a"}, false},
		{"the spec says which", pinOf("1.0.0", "x/a", sha("2")), v1alpha1.Package{Version: "1.0.0", Image: "x/a", ContainerSHA: sha("2")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{"a": c.pkg}}}
			status := rollout.Plan(rollout.Input{Skyhook: s, Pins: lifecycle.Pins{c.pin.PinKey: c.pin}})
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionImageMoved)
			if (got != nil) != c.told {
				t.Fatalf("condition %+v", got)
			}
			if !c.told {
				return
			}
			for _, part := range []string{"x/a:1.0.0", "node-7", sha("1"), sha("2"), "spec.packages.a.version", "containerSHA"} {
				if !strings.Contains(got.Message, part) {
					t.Errorf("%q does not name %s", got.Message, part)
				}
			}
		})
	}
}

package version_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/version"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b        string
		same, older bool
	}{
		{"1.2.0", "1.2.0", true, false},
		{"1.2", "1.2.0", true, false},
		{"v1.2.0", "1.2.0", true, false},
		{"1.2.0", "1.10.0", false, true},
		{"1.10.0", "1.2.0", false, false},
		{"1.2.0-rc1", "1.2.0", false, true},
		{"latest", "latest", true, false},
		{"latest", "1.2.0", false, false},
		{"1.2.0", "latest", false, false},
		{"", "", true, false},
		{"", "1.2.0", false, false},
	} {
		if got := version.Same(c.a, c.b); got != c.same {
			t.Errorf("Same(%q, %q) is %t", c.a, c.b, got)
		}
		if got := version.Older(c.a, c.b); got != c.older {
			t.Errorf("Older(%q, %q) is %t", c.a, c.b, got)
		}
	}
}

package capability_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/capability"
)

func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		name, packages, known string
		want                  string // package:reason
	}{
		{"nothing is known yet", "a x/a:1", "", ""},
		{"clear answers", "a x/a:1; b x/b:1", "x/a:1=A A=true x/b:1=B B=false", ""},
		{"a failure", "a x/a:1", "x/a:1=RegistryUnreachable", "a:RegistryUnreachable"},
		{"no label", "a x/a:1", "x/a:1=A A=unknown", "a:ImageUnlabeled"},
		{"by name, each package of an image", "c x/a:1; a x/a:1; b x/b:1", "x/a:1=RegistryUnreachable x/b:1=ImageNotFound", "a:RegistryUnreachable b:ImageNotFound c:RegistryUnreachable"},
		{"the spec has decided", "a x/a:1 enabled; b x/a:1 disabled", "x/a:1=RegistryUnreachable", ""},
		{"the image left", "a x/a:2", "x/a:1=RegistryUnreachable", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range capability.Doubts(skyhook(known(t, c.known), c.packages)) {
				got = append(got, d.Package+":"+d.Reason)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("doubts %q, want %q", text, c.want)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	doubts := func(n int, message string) []capability.Doubt {
		all := make([]capability.Doubt, n)
		for i := range all {
			all[i] = capability.Doubt{
				Package: fmt.Sprintf("p%d", i),
				Finding: capability.Finding{Reference: fmt.Sprintf("x/p%d:1", i), Message: message},
			}
		}
		return all
	}
	for _, c := range []struct {
		n    int
		want string
	}{
		{0, ""},
		{1, "package p0 (image x/p0:1): too slow"},
		{3, "package p0 (image x/p0:1): too slow; package p1 (image x/p1:1): too slow; package p2 (image x/p2:1): too slow"},
		{5, "package p0 (image x/p0:1): too slow; package p1 (image x/p1:1): too slow; package p2 (image x/p2:1): too slow; and 2 more"},
	} {
		if got := capability.Summary(doubts(c.n, "too slow")); got != c.want {
			t.Errorf("%d doubts: %q", c.n, got)
		}
	}
	if got := capability.Summary(doubts(128, strings.Repeat("x", 5000))); len(got) != 900 || !strings.HasPrefix(got, "package p0 (image x/p0:1): xxx") {
		t.Errorf("%d bytes: %.50s", len(got), got)
	}
}

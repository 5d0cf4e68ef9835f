package capability_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// TestEnabled: what the spec says comes before what the image says.
func TestEnabled(t *testing.T) {
	for _, c := range []struct {
		name, pkg, known string
		want             bool
	}{
		{"nobody says anything", "a x/a:1", "", false},
		{"the spec says yes", "a x/a:1 enabled", "", true},
		{"the spec says no", "a x/a:1 disabled", "", false},
		{"the image says yes", "a x/a:1", "x/a:1=A A=true", true},
		{"the image says no", "a x/a:1", "x/a:1=A A=false", false},
		{"the image is unlabeled", "a x/a:1", "x/a:1=A A=unknown", false},
		{"the image could not be looked at", "a x/a:1", "x/a:1=RegistryUnreachable", false},
		{"the spec's yes wins over the image's no", "a x/a:1 enabled", "x/a:1=A A=false", true},
		{"the spec's no wins over the image's yes", "a x/a:1 disabled", "x/a:1=A A=true", false},
		{"uninstall without enabled leaves it to the image", "a x/a:1 silent", "x/a:1=A A=true", true},
		{"another version's answer does not count", "a x/a:2", "x/a:1=A A=true", false},
		{"a digest whose answer is lost", "a x/a:1", "x/a:1=A B=true", false},
		{"pinned to a digest", "a x/a:1 sha=B", "x/a@" + digestB + "=B B=true", true},
		{"pinned, but only the tag is known", "a x/a:1 sha=B", "x/a:1=B B=true", false},
		{"another package's yes", "b x/b:1", "x/a:1=A A=true", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(known(t, c.known), c.pkg)
			name, _, _ := strings.Cut(c.pkg, " ")
			if got := capability.Enabled(s, name); got != c.want {
				t.Errorf("Enabled is %t, want %t", got, c.want)
			}
			delete(s.Spec.Packages, name)
			if capability.Enabled(s, name) {
				t.Error("a package that is not in the spec is enabled")
			}
		})
	}
}

// TestToAsk: what nothing is known of, and after a bar what failed.
func TestToAsk(t *testing.T) {
	for _, c := range []struct {
		name, packages, known, want string
	}{
		{"no packages", "", "", ""},
		{"sorted", "b x/b:1; a x/a:1; c x/c:1 silent", "", "x/a:1 x/b:1 x/c:1"},
		{"the spec has decided", "a x/a:1 enabled; b x/b:1 disabled", "", ""},
		{"one image of two packages", "a x/a:1; b x/a:1", "", "x/a:1"},
		{"one image, decided for one of them", "a x/a:1 enabled; b x/a:1", "", "x/a:1"},
		{"known", "a x/a:1; b x/b:1; c x/c:1", "x/a:1=A A=unknown x/b:1=RegistryUnreachable", "x/c:1 | x/b:1"},
		{"another version", "a x/a:2", "x/a:1=A A=true", "x/a:2"},
		{"pinned", "a x/a:1 sha=B", "x/a:1=A A=true", "x/a@" + digestB},
		{"the answer of the digest is lost", "a x/a:1", "x/a:1=A B=true", "x/a:1"},
		{"all that failed", "a x/a:1; b x/b:1; c x/c:1 enabled", "x/a:1=ImageUnreadable x/b:1=ImageNotFound x/c:1=ImageNotFound", " | x/a:1 | x/b:1"},
		{"a reason of an earlier version", "a x/a:1", "x/a:1=Timeout x/b:1=A A=true", "x/a:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			missing, failed := capability.ToAsk(skyhook(known(t, c.known), c.packages))
			got := strings.Join(missing, " ") + strings.Join(append([]string{""}, failed...), " | ")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestNext: findings are added, and what no image of the spec needs goes.
func TestNext(t *testing.T) {
	both := []capability.Finding{finding("x/a:1", digestA, capability.True), finding("x/b:1", digestB, capability.False)}
	for _, c := range []struct {
		name, packages, known string
		findings              []capability.Finding
		want                  string
	}{
		{"nothing", "a x/a:1", "", nil, ""},
		{"first findings", "a x/a:1; b x/b:1", "", both, "x/a:1=A A=true x/b:1=B B=false"},
		{"one more", "a x/a:1; b x/b:1", "x/a:1=A A=true", both[1:], "x/a:1=A A=true x/b:1=B B=false"},
		{"an image left while it was looked at", "a x/a:1", "", both, "x/a:1=A A=true"},
		{"an image left", "a x/a:1", "x/a:1=A A=true x/b:1=B B=false", nil, "x/a:1=A A=true"},
		{"a failure left", "a x/a:1", "x/a:1=A A=true x/b:1=RegistryUnreachable", nil, "x/a:1=A A=true"},
		{"all left", "", "x/a:1=A A=true x/b:1=RegistryUnreachable", nil, ""},
		{"two tags of one digest, one left", "a x/a:2", "x/a:1=A x/a:2=A A=true", nil, "x/a:2=A A=true"},
		{"an answer without a reference", "a x/a:1", "x/a:1=A A=true B=true", nil, "x/a:1=A A=true"},
		{"a new version with the digest of the old", "a x/a:2", "x/a:1=A A=true", []capability.Finding{finding("x/a:2", digestA, capability.True)}, "x/a:2=A A=true"},
		{"what the spec decided since stays known", "a x/a:1 enabled", "x/a:1=A A=true", nil, "x/a:1=A A=true"},
		{"a failure is known as well", "b x/b:1", "", []capability.Finding{failure("x/b:1", "", v1alpha1.ReasonRegistryUnreachable, "it failed")}, "x/b:1=RegistryUnreachable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(known(t, c.known), c.packages)
			got := capability.Next(s, c.findings)
			if want := known(t, c.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if again := capability.Next(with(s, got), nil); again != got {
				t.Errorf("the next pass writes again: %s", again)
			}
		})
	}
}

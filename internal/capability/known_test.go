package capability_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// TestAnnotationText pins the format that users and tools see.
func TestAnnotationText(t *testing.T) {
	var k capability.Known
	k.Add(finding("x/b:1", digestB, capability.Unknown))
	k.Add(finding("x/a:1", digestA, capability.True))
	k.Add(failure("x/c:1", "", v1alpha1.ReasonImageNotFound, "GET http://x/v2/c/manifests/1:\n  MANIFEST_UNKNOWN"))
	k.Add(failure("x/d@"+digestB, digestB, v1alpha1.ReasonRegistryUnreachable, "too slow"))
	want := `{"references":{` +
		`"x/a:1":{"digest":"` + digestA + `"},` +
		`"x/b:1":{"digest":"` + digestB + `"},` +
		`"x/c:1":{"reason":"ImageNotFound","message":"GET http://x/v2/c/manifests/1: MANIFEST_UNKNOWN"},` +
		`"x/d@` + digestB + `":{"digest":"` + digestB + `","reason":"RegistryUnreachable","message":"too slow"}},` +
		`"digests":{"` + digestA + `":"true","` + digestB + `":"unknown"}}`
	if got := k.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(k, capability.Read(skyhook(want, ""))); diff != "" {
		t.Errorf("-written +read\n%s", diff)
	}
}

func TestOf(t *testing.T) {
	const unlabeled = "the image has no label com.nvidia.skyhook.uninstall with the value true or false"
	var k capability.Known
	k.Add(finding("yes", digestA, capability.True))
	k.Add(finding("no label", digestB, capability.Unknown))
	k.Add(failure("failed", "", v1alpha1.ReasonRegistryUnreachable, "too slow"))
	k.Add(failure("failed, answered through another reference", digestA, v1alpha1.ReasonRegistryUnreachable, "too slow"))
	k.References["says nothing"] = capability.Finding{}
	for reference, want := range map[string]capability.Finding{
		"yes":      {Answer: capability.True, Digest: digestA},
		"no label": {Answer: capability.Unknown, Digest: digestB, Reason: v1alpha1.ReasonImageUnlabeled, Message: unlabeled},
		"failed":   {Answer: capability.Unknown, Reason: v1alpha1.ReasonRegistryUnreachable, Message: "too slow"},
		"failed, answered through another reference": {Answer: capability.True, Digest: digestA},
	} {
		want.Reference = reference
		if got, ok := k.Of(reference); !ok || got != want {
			t.Errorf("%s: got %+v, %t", reference, got, ok)
		}
	}
	for _, reference := range []string{"says nothing", "never seen", ""} {
		if got, ok := k.Of(reference); ok || got != (capability.Finding{}) {
			t.Errorf("%s: got %+v, %t", reference, got, ok)
		}
	}
}

// TestMalformedAnnotation: what cannot be read counts as nothing known and is replaced.
func TestMalformedAnnotation(t *testing.T) {
	for _, text := range []string{
		"", "{", "[]", "true", `"text"`, `{"references":[]}`, `{"digests":{"` + digestA + `":true}}`,
		`{"references":{"x/a:1":{"digest":"` + digestA + `"}},"digests":{"` + digestA + `":"yes"}}`,
		`{"references":{"x/a:1":{"reason":"not a reason"}}}`,
	} {
		s := with(skyhook("", "a x/a:1"), text)
		if capability.Enabled(s, "a") {
			t.Errorf("%s: enabled", text)
		}
		if got, _ := capability.ToAsk(s); len(got) != 1 {
			t.Errorf("%s: to ask are %v", text, got)
		}
		if got := capability.Doubts(s); len(got) != 0 {
			t.Errorf("%s: doubts %v", text, got)
		}
		if got := capability.Next(s, nil); got != "" {
			t.Errorf("%s: stays as %s", text, got)
		}
		want := known(t, "x/a:1=A A=true")
		if got := capability.Next(s, []capability.Finding{finding("x/a:1", digestA, capability.True)}); got != want {
			t.Errorf("%s: replaced by %s", text, got)
		}
	}
}

// TestMessagesAreBounded: also one that somebody else wrote into the annotation.
func TestMessagesAreBounded(t *testing.T) {
	for _, c := range []struct{ name, message, want string }{
		{"short", "too slow", "too slow"},
		{"lines, tabs and control characters", " a\n\tb  c\x00d\x1b\r\n", "a b c d"},
		{"no text", "a\xff\xfeb", "ab"},
		{"just fits", strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{"too long", strings.Repeat("x", 201), strings.Repeat("x", 197) + "…"},
		{"cut between letters of three bytes", strings.Repeat("€", 100), strings.Repeat("€", 65) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k capability.Known
			k.Add(failure("x/a:1", "", v1alpha1.ReasonRegistryUnreachable, c.message))
			if got := k.References["x/a:1"].Message; got != c.want || !utf8.ValidString(got) {
				t.Errorf("stored as %q", got)
			}
			k.References["x/a:1"] = capability.Finding{Reason: v1alpha1.ReasonRegistryUnreachable, Message: c.message}
			if got, _ := k.Of("x/a:1"); got.Message != c.want {
				t.Errorf("read as %q", got.Message)
			}
		})
	}
}

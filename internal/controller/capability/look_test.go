package capability_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
)

const (
	tagged = "HEAD manifests, GET manifests, GET blobs"
	pinned = "GET manifests, GET blobs"
)

func TestLabels(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		label string
		want  string
	}{
		{"true", known.True},
		{"false", known.False},
		{"-", known.Unknown},
		{"", known.Unknown},
		{"yes", known.Unknown},
		{"True", known.Unknown},
		{"unknown", known.Unknown},
	} {
		reference, digest := s.push("x/label:1", image(t, c.label))
		for reference, requests := range map[string]string{reference: tagged, s.host + "/x/label@" + digest: pinned} {
			got, err := capability.Registries{}.Look(t.Context(), reference, nil, nil)
			must(t, err)
			if want := (known.Finding{Reference: reference, Digest: digest, Answer: c.want}); got != want {
				t.Errorf("label %q:\ngot  %+v\nwant %+v", c.label, got, want)
			}
			if asked := s.took(); asked != requests {
				t.Errorf("label %q of %s: asked %s", c.label, reference, asked)
			}
		}
	}
}

// TestIndex: the digest is the index's, the label that of its first image for Linux.
func TestIndex(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
		reason  string
	}{
		{"one", []entry{{"linux/amd64", "true"}}, known.True, ""},
		{"the first counts", []entry{{"linux/arm64", "false"}, {"linux/amd64", "true"}}, known.False, ""},
		{"not the builder's machine", []entry{{"linux/s390x", "true"}}, known.True, ""},
		{"others come first", []entry{{"windows/amd64", "false"}, {"unknown/unknown", "-"}, {"", "false"}, {"linux/arm64", "true"}}, known.True, ""},
		{"no label", []entry{{"linux/amd64", "-"}}, known.Unknown, ""},
		{"none for Linux", []entry{{"windows/amd64", "true"}}, known.Unknown, v1alpha1.ReasonImageUnreadable},
		{"empty", nil, known.Unknown, v1alpha1.ReasonImageUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			reference, digest := s.push("x/index:1", index(t, c.entries...))
			got, err := capability.Registries{}.Look(t.Context(), reference, nil, nil)
			must(t, err)
			if got.Digest != digest || got.Answer != c.want || got.Reason != c.reason {
				t.Errorf("got %+v, the digest is %s", got, digest)
			}
		})
	}
	// An index in an index is not followed, whatever it says it is for.
	inner := mutate.IndexAddendum{Add: index(t, entry{"linux/amd64", "true"}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux"}}}
	reference, _ := s.push("x/nested:1", mutate.AppendManifests(index(t), inner))
	got, err := capability.Registries{}.Look(t.Context(), reference, nil, nil)
	must(t, err)
	if got.Reason != v1alpha1.ReasonImageUnreadable || got.Message != "the index lists no image for linux" {
		t.Errorf("got %+v", got)
	}
}

// TestKnownDigestIsNotFetched: neither through another tag nor when the image is pinned.
func TestKnownDigestIsNotFetched(t *testing.T) {
	s := serve(t)
	img := image(t, "true")
	s.push("x/a:1", img)
	reference, digest := s.push("y/b:2", img)
	for reference, requests := range map[string]string{reference: "HEAD manifests", s.host + "/y/b@" + digest: ""} {
		for _, answer := range []string{known.True, known.False, known.Unknown} {
			got, err := capability.Registries{}.Look(t.Context(), reference, nil, map[string]string{digest: answer})
			must(t, err)
			want := known.Finding{Reference: reference, Digest: digest, Answer: answer}
			if asked := s.took(); got != want || asked != requests {
				t.Errorf("got %+v, asked %s", got, asked)
			}
		}
	}
}

// TestRegistriesWithoutDigestInHead: the manifest itself tells the digest.
func TestRegistriesWithoutDigestInHead(t *testing.T) {
	s := serve(t)
	reference, digest := s.push("x/old:1", image(t, "true"))
	for _, code := range []int{http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed} {
		s.instead(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodHead {
				w.WriteHeader(code)
			}
			return r.Method == http.MethodHead
		})
		got, err := capability.Registries{}.Look(t.Context(), reference, nil, nil)
		must(t, err)
		if got.Digest != digest || got.Answer != known.True {
			t.Errorf("HEAD answers %d: got %+v", code, got)
		}
	}
}

func TestTimeout(t *testing.T) {
	s := serve(t)
	reference, digest := s.push("x/slow:1", image(t, "true"))
	for path, want := range map[string]known.Finding{
		"/v2/":        {Reference: reference},
		"/manifests/": {Reference: reference},
		"/blobs/":     {Reference: reference, Digest: digest},
	} {
		want.Answer, want.Reason, want.Message = known.Unknown, v1alpha1.ReasonRegistryUnreachable, "no answer within 50ms"
		s.instead(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, path) {
				<-r.Context().Done() // until the client has gone
				return true
			}
			return false
		})
		registries := capability.Registries{Timeout: 50 * time.Millisecond}
		got, err := registries.Look(t.Context(), reference, nil, nil)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s hangs: -want +got\n%s", path, diff)
		}
	}
}

// TestStoppedLookFindsNothing: an operator that stops must not take its own end for the registry's failure.
func TestStoppedLookFindsNothing(t *testing.T) {
	s := serve(t)
	reference, _ := s.push("x/stop:1", image(t, "true"))
	ctx, cancel := context.WithCancel(t.Context())
	s.instead(func(_ http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	})
	got, err := capability.Registries{}.Look(ctx, reference, nil, nil)
	if !errors.Is(err, context.Canceled) || got != (known.Finding{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

package capability_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/skyhook-operator/skyhook/pkg/image/label"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// server is a registry in memory that counts what it is asked.
type server struct {
	t    *testing.T
	host string
	mu   sync.Mutex
	// asked are the requests so far, such as "GET manifests"; a ping is "GET ".
	asked []string
	// front answers a request instead of the registry when it returns true.
	front registry.Front
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{t: t}
	s.host = registry.Serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		s.note(r)
		s.mu.Lock()
		front := s.front
		s.mu.Unlock()
		return front != nil && front(w, r)
	})
	return s
}

func (s *server) note(r *http.Request) {
	kind := ""
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 3 {
		kind = parts[len(parts)-2]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+kind)
}

// instead sets what answers first.
func (s *server) instead(front registry.Front) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front = front
}

// took returns the requests since the last call, without pings.
func (s *server) took() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []string
	for _, a := range s.asked {
		if !strings.HasSuffix(a, " ") {
			kinds = append(kinds, a)
		}
	}
	s.asked = nil
	return strings.Join(kinds, ", ")
}

// push stores an image or an index under a tag and returns its reference and digest.
func (s *server) push(tag string, what remote.Taggable) (reference, digest string) {
	s.t.Helper()
	reference = s.host + "/" + tag
	digest = registry.Push(s.t, reference, what)
	s.took()
	return reference, digest
}

// image has one layer and the given label; none when it is "-".
func image(t *testing.T, value string) v1.Image {
	t.Helper()
	img, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"org.opencontainers.image.title": "test"}
	if value != "-" {
		labels[label.Uninstall] = value
	}
	img, err = mutate.Config(img, v1.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// entry is an image for a platform, such as linux/arm64; empty for none.
type entry struct{ platform, label string }

func index(t *testing.T, entries ...entry) v1.ImageIndex {
	t.Helper()
	list := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, e := range entries {
		var platform *v1.Platform
		if e.platform != "" {
			p, err := v1.ParsePlatform(e.platform)
			if err != nil {
				t.Fatal(err)
			}
			platform = p
		}
		list = mutate.AppendManifests(list, mutate.IndexAddendum{Add: image(t, e.label), Descriptor: v1.Descriptor{Platform: platform}})
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

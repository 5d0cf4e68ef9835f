package registry_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/registry"
)

const digest = "@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"

func TestMirror(t *testing.T) {
	for _, c := range []struct{ name, mirror, image, want string }{
		{"none", "", "ghcr.io/a/tuning:1.2.0", "ghcr.io/a/tuning:1.2.0"},
		{"no image", "m.example", "", ""},
		{"tag", "m.example", "ghcr.io/a/tuning:1.2.0", "m.example/a/tuning:1.2.0"},
		{"digest", "m.example", "ghcr.io/a/tuning" + digest, "m.example/a/tuning" + digest},
		{"tag and digest", "m.example", "ghcr.io/a/tuning:1" + digest, "m.example/a/tuning:1" + digest},
		{"a mirror with a port and a path", "m.example:5000/copies", "ghcr.io/a/tuning:1", "m.example:5000/copies/a/tuning:1"},
		{"a registry with a port", "m.example", "r.example:5000/tuning:1", "m.example/tuning:1"},
		{"localhost", "m.example", "localhost/a/tuning:1", "m.example/a/tuning:1"},
		{"a deep path", "m.example", "nvcr.io/nvidia/skyhook/tuning:1", "m.example/nvidia/skyhook/tuning:1"},
		{"in the mirror already", "m.example/copies", "m.example/copies/a/tuning:1", "m.example/copies/a/tuning:1"},
		{"elsewhere in its registry", "m.example/copies", "m.example/a/tuning:1", "m.example/copies/a/tuning:1"},
		{"a registry whose name begins alike", "m.example", "m.example.com/a/tuning:1", "m.example/a/tuning:1"},
		{"no registry", "m.example", "a/tuning:1", "m.example/a/tuning:1"},
		{"a short name", "m.example", "tuning:1", "m.example/library/tuning:1"},
		{"a short name of Docker Hub", "m.example", "docker.io/tuning:1", "m.example/library/tuning:1"},
		{"a short name by its older host", "m.example", "index.docker.io/tuning:1", "m.example/library/tuning:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mirror, err := registry.ParseMirror(c.mirror)
			if err != nil {
				t.Fatal(err)
			}
			got := mirror.Of(c.image)
			if got != c.want || mirror.Of(got) != got {
				t.Errorf("got %s, and of that %s; want %s", got, mirror.Of(got), c.want)
			}
		})
	}
}

func TestParseMirror(t *testing.T) {
	for text, want := range map[string]registry.Mirror{
		"": "", " ": "", "m.example/": "m.example", " m.example:5000/a/b ": "m.example:5000/a/b", "localhost:5000": "localhost:5000",
		"localhost/a": "localhost/a",
	} {
		if got, err := registry.ParseMirror(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"https://m.example", "m.example/A", "a b", "m.example/a:1", "mirror", "mirror/a", "m.example//a"} {
		if got, err := registry.ParseMirror(text); err == nil {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
}

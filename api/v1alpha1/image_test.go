package v1alpha1_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestRepository(t *testing.T) {
	tests := map[string]string{
		"busybox":                                 "busybox",
		"busybox:1.2":                             "busybox",
		"ghcr.io/org/foo":                         "ghcr.io/org/foo",
		"ghcr.io/org/foo:1.2.3":                   "ghcr.io/org/foo",
		"localhost:5000/foo":                      "localhost:5000/foo",
		"localhost:5000/foo:1.2":                  "localhost:5000/foo",
		"localhost:5000/a/b/foo:1.2":              "localhost:5000/a/b/foo",
		"foo@" + digest:                           "foo",
		"foo:1.2@" + digest:                       "foo",
		"localhost:5000/foo@" + digest:            "localhost:5000/foo",
		"localhost:5000/foo:1.2@" + digest:        "localhost:5000/foo",
		"[::1]:5000/foo:1.2":                      "[::1]:5000/foo",
		"registry.example.com:443/a.b/c-d_e:v1.0": "registry.example.com:443/a.b/c-d_e",
	}
	for image, want := range tests {
		t.Run(image, func(t *testing.T) {
			p := v1alpha1.Package{Image: image}
			if got := p.Repository(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if p.Image != image {
				t.Errorf("image was edited to %s", p.Image)
			}
		})
	}
}

func TestImageRef(t *testing.T) {
	tests := map[string]struct {
		p    v1alpha1.Package
		want string
	}{
		"version is the tag": {
			v1alpha1.Package{Image: "ghcr.io/org/foo", Version: "1.2.3"}, "ghcr.io/org/foo:1.2.3",
		},
		"version wins over the tag": {
			v1alpha1.Package{Image: "localhost:5000/foo:0.9", Version: "1.2.3"}, "localhost:5000/foo:1.2.3",
		},
		"a digest in the image counts": {
			v1alpha1.Package{Image: "foo@" + digest, Version: "v1"}, "foo@" + digest,
		},
		"a digest after a tag counts": {
			v1alpha1.Package{Image: "localhost:5000/foo:0.9@" + digest, Version: "v1"}, "localhost:5000/foo@" + digest,
		},
		"containerSHA wins over a digest, which admission refuses": {
			v1alpha1.Package{Image: "foo@sha256:1", Version: "v1", ContainerSHA: digest}, "foo@" + digest,
		},
		"containerSHA wins over version": {
			v1alpha1.Package{Image: "ghcr.io/org/foo", Version: "1.2.3", ContainerSHA: digest}, "ghcr.io/org/foo@" + digest,
		},
		"containerSHA wins over tag and port stays": {
			v1alpha1.Package{Image: "localhost:5000/foo:1.2.3", Version: "1.2.3", ContainerSHA: digest}, "localhost:5000/foo@" + digest,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.p.ImageRef(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// variant is the shellscript package with one file more, which says which variant it is, and so with another digest.
func variant(t *testing.T, which string) v1.Image {
	t.Helper()
	return withFiles(t, image.Tree{"skyhook-package/skyhook_dir/which": image.File([]byte(which + "\n"))})
}

// withFiles is the shellscript package with these files in addition.
func withFiles(t *testing.T, files image.Tree) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(here(t).Registry()+"/nvidia/skyhook-packages/shellscript:1.1.0", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	lower, err := remote.Image(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := files.Layer()
	if err != nil {
		t.Fatal(err)
	}
	changed, err := mutate.AppendLayers(lower, layer)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

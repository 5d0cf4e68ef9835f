package image

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// TestUnpackIsBounded: also what is not kept of an image is not read for ever.
func TestUnpackIsBounded(t *testing.T) {
	img, err := random.Image(1<<20, 3)
	if err != nil {
		t.Fatal(err)
	}
	for limit, stops := range map[int64]bool{1: true, 1 << 20: true, 3 << 20: true, 4 << 20: false} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		_, err = unpackWithin(limit, img, root)
		if stops != (err != nil) || stops && !strings.Contains(err.Error(), "larger than") {
			t.Errorf("limit %d: %v", limit, err)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sized is an image that says that its configuration has so many bytes.
type sized struct {
	v1.Image
	bytes int64
}

func (s sized) Manifest() (*v1.Manifest, error) {
	return &v1.Manifest{Config: v1.Descriptor{Size: s.bytes}}, nil
}

func TestConfigurationIsBounded(t *testing.T) {
	if err := checkConfigSize(sized{bytes: maxConfig}); err != nil {
		t.Error(err)
	}
	if err := checkConfigSize(sized{bytes: maxConfig + 1}); err == nil || !strings.Contains(err.Error(), "configuration of the image has more than") {
		t.Errorf("got %v", err)
	}
}

package image

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestLintIsBounded: also what is not kept of an image is not read for ever,
// and not anew for each of its platforms.
func TestLintIsBounded(t *testing.T) {
	found := &Image{}
	for range 3 {
		img, err := random.Image(1<<20, 2)
		must(t, err)
		found.parts = append(found.parts, part{Image: img})
	}
	for limit, stops := range map[int64]bool{1: true, 1 << 20: true, 2 << 20: true, 3 << 20: true, 6 << 20: true, 7 << 20: false} {
		_, _, err := found.lintWithin(t.Context(), limit)
		if stops != (err != nil) || stops && !strings.Contains(err.Error(), "larger than 32 GiB, all platforms together") {
			t.Errorf("limit %d: %v", limit, err)
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

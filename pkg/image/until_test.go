package image_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

var errStopped = errors.New("stopped by a signal")

// endlessLayer goes on until somebody stops the reading of it, and after that.
type endlessLayer struct {
	v1.Layer
	stop func()
}

func (e endlessLayer) Uncompressed() (io.ReadCloser, error) { return e, nil }

func (e endlessLayer) Read(p []byte) (int, error) {
	e.stop()
	clear(p)
	return len(p), nil
}

func (endlessLayer) Close() error { return nil }

// TestLint_IsStopped amid a layer, and takes its files with it.
func TestLint_IsStopped(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancelCause(t.Context())
	endless := endlessLayer{layer(t), func() { stop(errStopped) }}
	found, err := image.FromIndex(reference, index(t, build(t, amd64, label, base(t), layer(t, files(configJSON)...), endless)))
	must(t, err)
	if _, _, err := found.Lint(ctx); !errors.Is(err, errStopped) || !strings.Contains(err.Error(), "unpack layer 3 of 3: ") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// TestFromArchive_IsStopped before and after it was found.
func TestFromArchive_IsStopped(t *testing.T) {
	file := newArchive(t, map[name.Tag]v1.Image{tag(t, reference): good(t, amd64)})
	ctx, stop := context.WithCancelCause(t.Context())
	found, err := image.FromArchive(ctx, file)
	must(t, err)
	stop(errStopped)
	if _, _, err := found.Lint(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("Lint: %v", err)
	}
	if _, err := image.FromArchive(ctx, file); !errors.Is(err, errStopped) || strings.Contains(err.Error(), "not a docker archive") {
		t.Errorf("FromArchive: %v", err)
	}
}

// TestFromLayout_IsStopped also where the unpacked layers are not what is read.
func TestFromLayout_IsStopped(t *testing.T) {
	dir := newLayout(t, func(p layout.Path) error { return p.AppendImage(good(t, amd64)) })
	ctx, stop := context.WithCancelCause(t.Context())
	found, err := image.FromLayout(ctx, dir)
	must(t, err)
	if _, report, err := found.Lint(t.Context()); err != nil || len(report.Errors) != 0 {
		t.Errorf("report %+v, error %v", report, err)
	}
	stop(errStopped)
	if _, _, err := found.Lint(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

package image

import (
	"context"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// until ends a reader with its context: those of local files know of none.
func until(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

func untilClosed(ctx context.Context, r io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{until(ctx, r), r}
}

// untilImage ends the reading of packed layers, too: there are ones that unpack
// to nothing however long they are, so that what reads from them never wakes.
type untilImage struct {
	v1.Image
	ctx context.Context
}

func (i untilImage) Layers() ([]v1.Layer, error) {
	layers, err := i.Image.Layers()
	if err != nil {
		return nil, err
	}
	for n, layer := range layers {
		if layers[n], err = partial.CompressedToLayer(untilLayer{layer, i.ctx}); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

type untilLayer struct {
	v1.Layer
	ctx context.Context
}

func (l untilLayer) Compressed() (io.ReadCloser, error) {
	packed, err := l.Layer.Compressed()
	if err != nil {
		return nil, err
	}
	return untilClosed(l.ctx, packed), nil
}

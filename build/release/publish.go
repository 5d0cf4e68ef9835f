package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Publisher pushes a release to a registry. All fields are required but Registry.
type Publisher struct {
	// Dir has the files of the release, as they were made: their checksums are looked at first.
	Dir string
	// Registry takes the place of the one in images.txt, for a copy of one's own; empty for that one.
	Registry string
	// Helm is the program that pushes the chart.
	Helm string
	// Log gets the name of each thing that is in the registry, with tag and digest, on a line.
	Log io.Writer
}

// Publish pushes the images by their tags, and the chart into the repository "charts" beside the operator's. It may be
// repeated: what is there stays. A tag that is there with something else is an error, because it never moves; nothing
// after it is pushed.
func (p Publisher) Publish(ctx context.Context) error {
	if err := verifySums(p.Dir); err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(p.Dir, imagesFile))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "publish-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	archives, err := p.archives(work)
	if err != nil {
		return err
	}
	var charts string
	for image := range strings.FieldsSeq(string(list)) {
		reference, digest, _ := strings.Cut(image, "@")
		tag, err := p.tag(reference)
		if err != nil {
			return err
		}
		index, ok := archives[digest]
		if !ok {
			return fmt.Errorf("%s names %s, and no archive has it", imagesFile, image)
		}
		if err := pushImage(ctx, tag, digest, index); err != nil {
			return fmt.Errorf("push %s: %w", tag, err)
		}
		fmt.Fprintf(p.Log, "%s@%s\n", tag, digest)
		if charts == "" { // the first is the operator
			charts = path.Join(path.Dir(tag.Context().Name()), "charts")
		}
	}
	return p.pushChart(ctx, charts)
}

// tag is where an image goes.
func (p Publisher) tag(reference string) (name.Tag, error) {
	if p.Registry != "" {
		_, repository, _ := strings.Cut(reference, "/")
		reference = p.Registry + "/" + repository
	}
	return name.NewTag(reference, name.StrictValidation)
}

// archives are the images of the release, by their digests, unpacked below a folder.
func (p Publisher) archives(work string) (map[string]v1.ImageIndex, error) {
	files, err := filepath.Glob(filepath.Join(p.Dir, "*"+imageExt))
	if err != nil {
		return nil, err
	}
	all := map[string]v1.ImageIndex{}
	for _, file := range files {
		folder := filepath.Join(work, filepath.Base(file))
		if err := untar(file, folder); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", file, err)
		}
		outer, err := layout.ImageIndexFromPath(folder)
		if err != nil {
			return nil, err
		}
		manifest, err := outer.IndexManifest()
		if err != nil {
			return nil, err
		}
		for _, entry := range manifest.Manifests {
			if all[entry.Digest.String()], err = outer.ImageIndex(entry.Digest); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// missing reports whether an answer of a registry is that it has no such thing.
func missing(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

func pushImage(ctx context.Context, tag name.Tag, digest string, index v1.ImageIndex) error {
	there, err := remote.Head(tag, options(ctx)...)
	switch {
	case missing(err):
		return remote.WriteIndex(tag, index, options(ctx)...)
	case err == nil && there.Digest.String() != digest:
		return fmt.Errorf("the tag is there already, with %s, and is not moved: raise the version", there.Digest)
	}
	return err
}

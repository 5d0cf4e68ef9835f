package image

import (
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// New puts layers, the lowest first, together to the image for one platform. It
// was made at the epoch, so equal input gives equal digests.
func New(platform v1.Platform, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(img, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = platform.OS, platform.Architecture, config
	file.Created = v1.Time{Time: epoch}
	for i := range file.History {
		file.History[i].Created = v1.Time{Time: epoch}
	}
	return mutate.ConfigFile(img, file)
}

// NewIndex makes one index of images for several platforms: images[i] is that
// for platforms[i].
func NewIndex(platforms []v1.Platform, images []v1.Image) v1.ImageIndex {
	index := emptyIndex()
	for i, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &platforms[i]},
		})
	}
	return index
}

func emptyIndex() v1.ImageIndex { return mutate.IndexMediaType(empty.Index, types.OCIImageIndex) }

// DownloadSize is the size of everything that a node fetches for an image, in
// bytes: its manifest, its configuration and its layers as they are packed.
func DownloadSize(img v1.Image) (int64, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	size, err := img.Size()
	if err != nil {
		return 0, err
	}
	size += manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size, nil
}

// WriteLayout replaces the folder dir by an OCI layout with one index, which it
// calls by the reference: repository and tag.
func WriteLayout(dir, reference string, index v1.ImageIndex) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, emptyIndex())
	if err == nil {
		err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: reference}))
	}
	if err != nil {
		return fmt.Errorf("write the OCI layout: %w", err)
	}
	return nil
}

// WriteArchive replaces a docker archive, which holds the image of one platform,
// at once, so that nobody loads half of one.
func WriteArchive(file string, tag name.Tag, img v1.Image) error {
	partial := file + ".partial"
	if err := tarball.WriteToFile(partial, tag, img); err != nil {
		return fmt.Errorf("write %s: %w", partial, err)
	}
	return os.Rename(partial, file)
}

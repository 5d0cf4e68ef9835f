package images

import (
	"maps"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Source is where the project is.
const Source = "https://github.com/skyhook-operator/skyhook"

// epoch is the one time that images know, so that the clock is not part of the input.
var epoch = time.Unix(0, 0).UTC()

// assemble puts layers and labels together for one platform.
func assemble(o Options, r recipe, platform v1.Platform, layers []v1.Layer) (v1.Image, error) {
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
	file.OS, file.Architecture = platform.OS, platform.Architecture
	file.Created = v1.Time{Time: epoch}
	for i := range file.History {
		file.History[i].Created = v1.Time{Time: epoch}
	}
	file.Config = r.config
	file.Config.Labels = labels(o, r)
	return mutate.ConfigFile(img, file)
}

// labels says what the image is. The creation time is left out: it would make every digest new.
func labels(o Options, r recipe) map[string]string {
	given := map[string]string{
		"title":       r.title,
		"description": r.description,
		"version":     r.version,
		"revision":    o.Revision,
		"source":      r.source,
		"licenses":    r.licenses,
	}
	maps.DeleteFunc(given, func(_, value string) bool { return value == "" })
	all := make(map[string]string, len(given)+len(r.labels))
	for key, value := range given {
		all["org.opencontainers.image."+key] = value
	}
	maps.Copy(all, r.labels)
	return all
}

// downloadSize is the size of everything that a node fetches for an image.
func downloadSize(img v1.Image) (int64, error) {
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

func emptyIndex() v1.ImageIndex { return mutate.IndexMediaType(empty.Index, types.OCIImageIndex) }

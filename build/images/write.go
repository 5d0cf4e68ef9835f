package images

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// write puts the OCI layout and the docker archives below o.Out and notes their paths in result.
// images are those of o.Platforms, in that order.
func write(o Options, result *Result, reference name.Tag, images []v1.Image) error {
	result.Layout = filepath.Join(o.Out, result.Name)
	if err := os.RemoveAll(result.Layout); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	// The layout holds one index with one entry, the image's own index, under its name.
	path, err := layout.Write(result.Layout, emptyIndex())
	if err != nil {
		return fmt.Errorf("write the OCI layout: %w", err)
	}
	err = path.AppendIndex(result.Index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": reference.Name(),
	}))
	if err != nil {
		return fmt.Errorf("write the OCI layout: %w", err)
	}
	for i, platform := range o.Platforms {
		file := filepath.Join(o.Out, fmt.Sprintf("%s-%s-%s-%s.tar", result.Name, result.Version, platform.OS, platform.Architecture))
		if err := writeTarball(file, reference, images[i]); err != nil {
			return err
		}
		result.Tarballs = append(result.Tarballs, file)
	}
	return nil
}

// writeTarball replaces a docker archive at once, so that nobody loads half of one.
func writeTarball(file string, reference name.Tag, image v1.Image) error {
	partial := file + ".partial"
	if err := tarball.WriteToFile(partial, reference, image); err != nil {
		return fmt.Errorf("write %s: %w", partial, err)
	}
	return os.Rename(partial, file)
}

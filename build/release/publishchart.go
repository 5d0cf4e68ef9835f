package release

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// pushChart pushes the chart's package below a repository, with the user's login for its registry.
func (p Publisher) pushChart(ctx context.Context, repository string) error {
	file, tag, err := p.chart(repository)
	if err != nil {
		return err
	}
	there, err := hasChart(ctx, file, tag)
	if err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	if !there {
		args := []string{"push", file, "oci://" + repository}
		if tag.Scheme() == "http" { // a registry on this machine
			args = append(args, "--plain-http")
		}
		if out, err := exec.CommandContext(ctx, p.Helm, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("helm push: %w: %s", err, out)
		}
	}
	pushed, err := remote.Head(tag, options(ctx)...)
	if err != nil {
		return fmt.Errorf("look for %s: %w", tag, err)
	}
	fmt.Fprintf(p.Log, "%s@%s\n", tag, pushed.Digest)
	return nil
}

// chart is the file of the chart's package, and the tag that Helm gives it below a repository.
func (p Publisher) chart(repository string) (file string, tag name.Tag, err error) {
	files, err := filepath.Glob(filepath.Join(p.Dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return "", tag, fmt.Errorf("%s has %d charts, want 1", p.Dir, len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return "", tag, err
	}
	members, err := untarGzip(content)
	if err != nil {
		return "", tag, fmt.Errorf("unpack %s: %w", files[0], err)
	}
	var about struct{ Name, Version string }
	for _, m := range members {
		if filepath.Base(m.name) == "Chart.yaml" {
			if err := yaml.Unmarshal(m.content, &about); err != nil {
				return "", tag, fmt.Errorf("read %s of %s: %w", m.name, files[0], err)
			}
		}
	}
	tag, err = name.NewTag(repository+"/"+about.Name+":"+about.Version, name.StrictValidation)
	return files[0], tag, err
}

// hasChart reports whether the tag is this package. Helm puts the time of the push into what it pushes, so only the layer
// with the package can be compared.
func hasChart(ctx context.Context, file string, tag name.Tag) (bool, error) {
	image, err := remote.Image(tag, options(ctx)...)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return false, err
	}
	sum, err := fileSum(file)
	if err != nil {
		return false, err
	}
	if len(manifest.Layers) != 1 || manifest.Layers[0].Digest.Hex != hex.EncodeToString(sum) {
		return false, errors.New("the tag is there already, with another chart, and is not moved: raise the version")
	}
	return true, nil
}

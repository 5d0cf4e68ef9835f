package install

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
)

// publicPackages is where existing manifests expect the packages that this project ships too.
const publicPackages = "ghcr.io/nvidia/skyhook-packages/"

// older are the versions of our packages that manifests in this repository ask for by their public name. The one that
// we ship now may have another: the examples go by what the public registry has, so that they work anywhere.
var older = map[string]string{"shellscript": "1.1.0"}

// Registry takes images under the names by which manifests call them.
type Registry interface {
	PushIndex(ctx context.Context, index v1.ImageIndex, name string) error
}

// Images are the project's images as built for this machine's architecture.
type Images struct {
	Operator, Agent images.Result
	Packages        []images.Result
	// Older are packages under the public names, with versions, of older ones.
	Older []images.Result
}

// BuildImages builds all images of the repository in root for nodes like this machine. Slow steps are told to log.
func BuildImages(ctx context.Context, root string, log io.Writer) (Images, error) {
	o := images.Options{Root: root, Log: log, Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}}
	results, err := images.Build(ctx, o)
	if err != nil {
		return Images{}, fmt.Errorf("build the images: %w", err)
	}
	var built Images
	for _, r := range results {
		switch r.Name {
		case "operator":
			built.Operator = r
		case "agent":
			built.Agent = r
		default:
			built.Packages = append(built.Packages, r)
		}
	}
	for name, version := range older {
		o.Package, o.PackageVersion = filepath.Join(root, "packages", name), version
		o.Name, o.Repository = name+"-"+version, publicPackages+name
		results, err := images.Build(ctx, o)
		if err != nil {
			return Images{}, fmt.Errorf("build %s as version %s: %w", name, version, err)
		}
		built.Older = append(built.Older, results...)
	}
	return built, nil
}

// Push gives the registry every image under its own name, and packages under their public name as well.
func (i Images) Push(ctx context.Context, registry Registry) error {
	push := func(r images.Result, name string) error {
		if err := registry.PushIndex(ctx, r.Index, name); err != nil {
			return fmt.Errorf("push %s: %w", name, err)
		}
		return nil
	}
	for _, r := range slices.Concat([]images.Result{i.Operator, i.Agent}, i.Packages, i.Older) {
		if err := push(r, r.Reference); err != nil {
			return err
		}
	}
	for _, r := range i.Packages {
		if err := push(r, publicPackages+r.Name+":"+r.Version); err != nil {
			return err
		}
	}
	return nil
}

// ChartArgs are Helm's arguments to install exactly these images. They go by digest: the tag is the same for every
// build of a version, so by tag alone a changed operator would not be rolled out.
func (i Images) ChartArgs() []string {
	return []string{
		"--set", "controllerManager.manager.image.digest=" + i.Operator.Digest.String(),
		"--set", "controllerManager.manager.image.tag=" + i.Operator.Version,
		"--set", "controllerManager.manager.agent.digest=" + i.Agent.Digest.String(),
		"--set", "controllerManager.manager.agent.tag=" + i.Agent.Version,
	}
}

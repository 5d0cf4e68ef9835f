package images

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// Source is where the project is.
const Source = "https://github.com/skyhook-operator/skyhook"

// recipe is how one image is made.
type recipe struct {
	name        string // folder below Out
	repository  string // without tag
	version     string
	title       string
	description string
	source      string // URL
	licenses    string // SPDX expression
	config      v1.Config
	// labels beside those of OCI.
	labels map[string]string
	// debian says that files of Debian are in the content.
	debian bool
	// layers makes the image's content for one platform, lowest layer first.
	layers func(context.Context, v1.Platform) ([]v1.Layer, error)
}

// Result is one image that was built, for all platforms asked for.
type Result struct {
	// Name is "operator", "agent" or the package's folder name.
	Name string
	// Version is the tag.
	Version string
	// Reference is what manifests call the image: repository and tag.
	Reference string
	// Index holds one image per platform; its digest is the same for the same input.
	Index  v1.ImageIndex
	Digest v1.Hash
	// Size is what a node of the first platform downloads, in bytes (compressed).
	Size int64
	// Debian are the packages of Debian in the image, for all platforms. They are files without a package database, so the
	// image itself does not tell.
	Debian []DebianFile
	// Layout is the folder with the OCI layout, Tarballs the docker archives, one per platform.
	Layout   string
	Tarballs []string
}

// Build makes the images and writes each as an OCI layout and as docker archives. The results are in the order
// operator, agent, packages by name.
func Build(ctx context.Context, o Options) ([]Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	recipes, err := recipes(ctx, o)
	if err != nil {
		return nil, err
	}
	results := make([]Result, 0, len(recipes))
	for _, r := range recipes {
		result, err := build(ctx, o, r)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", r.name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// recipes lists what o asks for.
func recipes(ctx context.Context, o Options) ([]recipe, error) {
	if o.Package != "" {
		r, err := givenRecipe(ctx, o)
		return []recipe{r}, err
	}
	all := slices.DeleteFunc([]recipe{operatorRecipe(o), agentRecipe(o)}, func(r recipe) bool { return !o.wants(r.name) })
	packages, err := packageRecipes(o)
	if err != nil {
		return nil, err
	}
	all = append(all, packages...)
	for _, wanted := range o.Only {
		if !slices.ContainsFunc(all, func(r recipe) bool { return r.name == wanted }) {
			return nil, fmt.Errorf("no image is named %q", wanted)
		}
	}
	return all, nil
}

func build(ctx context.Context, o Options, r recipe) (Result, error) {
	reference, err := name.NewTag(r.repository + ":" + r.version)
	if err != nil {
		return Result{}, fmt.Errorf("its name and its version do not make a reference: %w", err)
	}
	result := Result{Name: r.name, Version: r.version, Reference: reference.Name()}
	built := make([]v1.Image, len(o.Platforms))
	for i, platform := range o.Platforms {
		if r.debian {
			files, err := o.debian.files(ctx, o, platform.Architecture)
			if err != nil {
				return Result{}, err
			}
			result.Debian = append(result.Debian, files...)
		}
		if built[i], err = buildOne(ctx, o, r, platform); err != nil {
			return Result{}, fmt.Errorf("%s: %w", platform, err)
		}
	}
	result.Index = image.NewIndex(o.Platforms, built)
	if result.Digest, err = result.Index.Digest(); err != nil {
		return Result{}, err
	}
	if result.Size, err = image.DownloadSize(built[0]); err != nil {
		return Result{}, err
	}
	err = result.write(o, reference, built)
	return result, err
}

func buildOne(ctx context.Context, o Options, r recipe, platform v1.Platform) (v1.Image, error) {
	layers, err := r.layers(ctx, platform)
	if err != nil {
		return nil, err
	}
	config := r.config
	config.Labels = labels(o, r)
	return image.New(platform, config, layers...)
}

// write puts the OCI layout and the docker archives below o.Out, and notes their paths.
func (result *Result) write(o Options, reference name.Tag, built []v1.Image) error {
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	result.Layout = filepath.Join(o.Out, result.Name)
	if err := image.WriteLayout(result.Layout, result.Reference, result.Index); err != nil {
		return err
	}
	for i, platform := range o.Platforms {
		file := filepath.Join(o.Out, fmt.Sprintf("%s-%s-%s-%s.tar", result.Name, result.Version, platform.OS, platform.Architecture))
		if err := image.WriteArchive(file, reference, built[i]); err != nil {
			return err
		}
		result.Tarballs = append(result.Tarballs, file)
	}
	return nil
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

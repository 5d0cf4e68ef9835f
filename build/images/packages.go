package images

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image/label"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	packageRepository = "ghcr.io/skyhook-operator/skyhook-packages/"
	// localRepository is for packages of others until they say where theirs go.
	localRepository = "localhost/"
	// packagePath is where an image has its package, as archives write it.
	packagePath = "skyhook-package/"
)

// packageRecipes makes a recipe of every folder in packages/ that has a config.json and that o asks for.
func packageRecipes(o Options) ([]recipe, error) {
	configs, err := filepath.Glob(filepath.Join(o.Root, "packages", "*", packagefile.ConfigFile))
	if err != nil {
		return nil, err
	}
	slices.Sort(configs)
	recipes := make([]recipe, 0, len(configs))
	for _, config := range configs {
		dir := filepath.Dir(config)
		if !o.wants(filepath.Base(dir)) {
			continue
		}
		// What they leave out needs no word.
		quiet := o
		quiet.Log = io.Discard
		pkg, err := readPackage(o, dir, dir)
		if err != nil {
			return nil, err
		}
		recipes = append(recipes, packageRecipe(dir, pkg, func(ctx context.Context, platform v1.Platform) ([]v1.Layer, error) {
			d, err := derive(ctx, quiet, dir)
			if err != nil {
				return nil, err
			}
			return d.layers(ctx, platform)
		}))
	}
	return recipes, nil
}

// givenRecipe is that of the package folder in o.Package, wherever it is.
func givenRecipe(ctx context.Context, o Options) (recipe, error) {
	dir, err := filepath.Abs(o.Package)
	if err != nil {
		return recipe{}, err
	}
	dir = packagefile.FolderOf(dir)
	d, err := derive(ctx, o, dir)
	if err != nil {
		return recipe{}, err
	}
	r := packageRecipe(dir, d.pkg, d.layers)
	if d.image != nil {
		r.debian = false
		// Its programs may be anywhere.
		r.config.Env = []string{"PATH=" + hostPath}
	}
	if o.Name != "" {
		r.name, r.title, r.description = o.Name, o.Name, "Skyhook package "+o.Name
		r.repository = packageRepository + o.Name
	}
	ours, err := filepath.Abs(filepath.Join(o.Root, "packages"))
	if err != nil {
		return recipe{}, err
	}
	if o.Root == "" || filepath.Dir(dir) != ours {
		// Where it comes from and under which license is not ours to say.
		r.repository, r.source, r.licenses = localRepository+r.name, "", ""
	}
	if o.Repository != "" {
		r.repository = o.Repository
	}
	return r, nil
}

func packageRecipe(dir string, pkg *packagefile.Package, layers func(context.Context, v1.Platform) ([]v1.Layer, error)) recipe {
	name := filepath.Base(dir)
	return recipe{
		name: name, repository: packageRepository + name, version: pkg.Version,
		title:       name,
		description: "Skyhook package " + name,
		source:      Source,
		licenses:    "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later", // ours, busybox, bash
		config:      v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}, WorkingDir: "/"},
		labels:      map[string]string{label.Uninstall: strconv.FormatBool(len(pkg.Modes[packagefile.Uninstall]) > 0)},
		debian:      true,
		layers:      layers,
	}
}

// readPackage reads the package in dir, which on its base is the one in joined. It refuses what its author has to mend
// first; what may be mended goes to the log.
func readPackage(o Options, dir, joined string) (*packagefile.Package, error) {
	pkg, report, err := packagefile.LintPath(context.Background(), joined)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, warning := range report.Warnings {
		fmt.Fprintf(o.Log, "warning: %s: %s\n", dir, warning)
	}
	return pkg, nil
}

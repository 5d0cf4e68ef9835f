package images

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
	"github.com/skyhook-operator/skyhook/pkg/packagefile/image"
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
		pkg, err := readPackage(o, dir)
		if err != nil {
			return nil, err
		}
		recipes = append(recipes, packageRecipe(o, dir, pkg))
	}
	return recipes, nil
}

// givenRecipe is that of the package folder in o.Package, wherever it is.
func givenRecipe(o Options) (recipe, error) {
	dir, err := filepath.Abs(o.Package)
	if err != nil {
		return recipe{}, err
	}
	if filepath.Base(dir) == packagefile.ConfigFile {
		dir = filepath.Dir(dir)
	}
	pkg, err := readPackage(o, dir)
	if err != nil {
		return recipe{}, err
	}
	pkg.Version = cmp.Or(o.PackageVersion, pkg.Version)
	r := packageRecipe(o, dir, pkg)
	if o.Name != "" {
		r.name, r.title, r.description = o.Name, o.Name, "Skyhook package "+o.Name
		r.repository = packageRepository + o.Name
	}
	ours, err := filepath.Abs(filepath.Join(o.Root, "packages"))
	if err != nil {
		return recipe{}, err
	}
	if filepath.Dir(dir) != ours {
		// Where it comes from and under which license is not ours to say.
		r.repository, r.source, r.licenses = localRepository+r.name, "", ""
	}
	if o.Repository != "" {
		r.repository = o.Repository
	}
	return r, nil
}

func packageRecipe(o Options, dir string, pkg *packagefile.Package) recipe {
	name := filepath.Base(dir)
	return recipe{
		name: name, repository: packageRepository + name, version: pkg.Version,
		title:       name,
		description: "Skyhook package " + name,
		source:      source,
		licenses:    "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later", // ours, busybox, bash
		config:      v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}, WorkingDir: "/"},
		labels:      map[string]string{image.UninstallLabel: strconv.FormatBool(len(pkg.Modes[packagefile.Uninstall]) > 0)},
		layers: func(ctx context.Context, platform v1.Platform) ([]v1.Layer, error) {
			base, err := baseLayer(ctx, o, platform)
			if err != nil {
				return nil, err
			}
			content, err := packageTree(dir)
			if err != nil {
				return nil, err
			}
			if err := content.setVersion(pkg.Version); err != nil {
				return nil, err
			}
			layer, err := content.layer()
			return []v1.Layer{base, layer}, err
		},
	}
}

// readPackage refuses what its author has to mend first; what may be mended goes to the log.
func readPackage(o Options, dir string) (*packagefile.Package, error) {
	pkg, report, err := packagefile.LintPath(context.Background(), dir)
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

// packageTree is what a package brings: its config.json, its steps and its files for the host, below /skyhook-package.
func packageTree(dir string) (tree, error) {
	t := tree{}
	for _, part := range []string{"config.json", "skyhook_dir", "root_dir"} {
		err := filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			t[packagePath+filepath.ToSlash(name)], err = packageEntry(path, d)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return t, nil
}

var versionKey = regexp.MustCompile(`("package_version"\s*:\s*)"[^"]*"`)

// setVersion makes config.json say the version that the image's tag will. What says so already stays as it is.
func (t tree) setVersion(version string) error {
	const name = packagePath + packagefile.ConfigFile
	if pkg, _ := packagefile.Parse(t[name].content); pkg != nil && pkg.Version == version {
		return nil
	}
	content := versionKey.ReplaceAll(t[name].content, []byte(`${1}"`+version+`"`))
	if pkg, report := packagefile.Parse(content); pkg == nil || pkg.Version != version {
		return errors.Join(fmt.Errorf("%s does not take the version %s", packagefile.ConfigFile, version), report.Err())
	}
	t[name] = file(content)
	return nil
}

// packageEntry reads one file. Of its mode only "executable" counts, as in git, and a script is executable always: the
// umask of a clone must not change the image.
func packageEntry(path string, d fs.DirEntry) (entry, error) {
	switch {
	case d.IsDir():
		return folder(0o755), nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return symlink(target), err
	}
	info, err := d.Info()
	if err != nil {
		return entry{}, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return entry{}, err
	}
	if info.Mode()&0o111 != 0 || bytes.HasPrefix(content, []byte("#!")) {
		return program(content), nil
	}
	return file(content), nil
}

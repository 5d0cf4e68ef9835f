package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const packageRepository = "ghcr.io/skyhook-operator/skyhook-packages/"

// packageRecipes makes a recipe of every folder in packages/ that has a config.json.
func packageRecipes(o Options) ([]recipe, error) {
	configs, err := filepath.Glob(filepath.Join(o.Root, "packages", "*", "config.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(configs)
	recipes := make([]recipe, 0, len(configs))
	for _, config := range configs {
		version, err := packageVersion(config)
		if err != nil {
			return nil, err
		}
		recipes = append(recipes, packageRecipe(o, filepath.Dir(config), version))
	}
	return recipes, nil
}

func packageRecipe(o Options, dir, version string) recipe {
	name := filepath.Base(dir)
	return recipe{
		name: name, repository: packageRepository + name, version: version,
		title:       name,
		description: "Skyhook package " + name,
		licenses:    "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later", // ours, busybox, bash
		config:      v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}, WorkingDir: "/"},
		layers: func(ctx context.Context, platform v1.Platform) ([]v1.Layer, error) {
			base, err := baseLayer(ctx, o, platform)
			if err != nil {
				return nil, err
			}
			content, err := packageTree(dir)
			if err != nil {
				return nil, err
			}
			layer, err := content.layer()
			return []v1.Layer{base, layer}, err
		},
	}
}

// packageVersion reads the field package_version of a config.json.
func packageVersion(config string) (string, error) {
	content, err := os.ReadFile(config)
	if err != nil {
		return "", err
	}
	var fields struct {
		Version string `json:"package_version"`
	}
	if err := json.Unmarshal(content, &fields); err != nil {
		return "", fmt.Errorf("parse %s: %w", config, err)
	}
	if fields.Version == "" {
		return "", fmt.Errorf("%s: field package_version is missing; it is the image's tag", config)
	}
	return fields.Version, nil
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
			t["skyhook-package/"+filepath.ToSlash(name)], err = packageEntry(path, d)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return t, nil
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

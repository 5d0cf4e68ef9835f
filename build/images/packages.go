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
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	packageRepository = "ghcr.io/skyhook-operator/skyhook-packages/"
	// uninstallLabel tells the operator whether the package in an image can be uninstalled.
	uninstallLabel = "com.nvidia.skyhook.uninstall"
)

// packageRecipes makes a recipe of every folder in packages/ that has a config.json.
func packageRecipes(o Options) ([]recipe, error) {
	configs, err := filepath.Glob(filepath.Join(o.Root, "packages", "*", "config.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(configs)
	recipes := make([]recipe, 0, len(configs))
	for _, config := range configs {
		about, err := readPackage(config)
		if err != nil {
			return nil, err
		}
		recipes = append(recipes, packageRecipe(o, filepath.Dir(config), about))
	}
	return recipes, nil
}

func packageRecipe(o Options, dir string, about packageConfig) recipe {
	name := filepath.Base(dir)
	return recipe{
		name: name, repository: packageRepository + name, version: about.Version,
		title:       name,
		description: "Skyhook package " + name,
		licenses:    "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later", // ours, busybox, bash
		config:      v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}, WorkingDir: "/"},
		labels:      map[string]string{uninstallLabel: strconv.FormatBool(about.uninstalls())},
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

// packageConfig is what the build needs to know of a config.json.
type packageConfig struct {
	Version string `json:"package_version"`
	Modes   struct {
		Uninstall []json.RawMessage `json:"uninstall"`
	} `json:"modes"`
}

// uninstalls reports whether the package has steps that undo it.
func (p packageConfig) uninstalls() bool { return len(p.Modes.Uninstall) > 0 }

func readPackage(config string) (packageConfig, error) {
	var about packageConfig
	content, err := os.ReadFile(config)
	if err != nil {
		return about, err
	}
	if err := json.Unmarshal(content, &about); err != nil {
		return about, fmt.Errorf("parse %s: %w", config, err)
	}
	if about.Version == "" {
		return about, fmt.Errorf("%s: field package_version is missing; it is the image's tag", config)
	}
	return about, nil
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

package images

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// notShipped are the names at the top of a package's folder that are for its author: what begins with a dot, how the
// image is built, what people read, and tests.
var notShipped = []string{".*", "Dockerfile*", "*.md", "LICENSE*", "testdata", "*_test.go"}

func isShipped(top string) bool {
	return !slices.ContainsFunc(notShipped, func(pattern string) bool {
		matched, _ := path.Match(pattern, top)
		return matched
	})
}

// leftOut are the names at the top of a folder that do not go into the image.
func leftOut(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if !isShipped(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// packageTree is what a package brings, below /skyhook-package: all that is in its folder, but for notShipped.
func packageTree(dir string) (image.Tree, error) {
	t := image.Tree{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if !isShipped(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		t[packagePath+filepath.ToSlash(name)], err = packageEntry(file, d)
		return err
	})
	return t, err
}

// packageEntry reads one file. Of its mode only "executable" counts, as in git, and a script is executable always: the
// umask of a clone must not change the image.
func packageEntry(name string, d fs.DirEntry) (image.Entry, error) {
	switch {
	case d.IsDir():
		return image.Folder(0o755), nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		return image.Symlink(target), err
	case !d.Type().IsRegular():
		return image.Entry{}, fmt.Errorf("%s is neither a file nor a folder nor a symbolic link; remove it",
			packagefile.Printable(name))
	}
	info, err := d.Info()
	if err != nil {
		return image.Entry{}, err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return image.Entry{}, err
	}
	if info.Mode()&0o111 != 0 || bytes.HasPrefix(content, []byte("#!")) {
		return image.Program(content), nil
	}
	return image.File(content), nil
}

var versionKey = regexp.MustCompile(`("package_version"\s*:\s*)"[^"]*"`)

// setVersion makes config.json say the version that the image's tag will. What says so already stays as it is.
func setVersion(t image.Tree, version string) error {
	const name = packagePath + packagefile.ConfigFile
	if pkg, _ := packagefile.Parse(t[name].Content); pkg != nil && pkg.Version == version {
		return nil
	}
	content := versionKey.ReplaceAll(t[name].Content, []byte(`${1}"`+version+`"`))
	if pkg, report := packagefile.Parse(content); pkg == nil || pkg.Version != version {
		return errors.Join(fmt.Errorf("%s does not take the version %s", packagefile.ConfigFile, version), report.Err())
	}
	t[name] = image.File(content)
	return nil
}

// derived is a package on its base, which is a folder or an image; on none without o.Base.
type derived struct {
	o    Options
	pkg  *packagefile.Package
	tree image.Tree
	// image is below the tree; nil for none.
	image *image.Image
}

// derive reads the package in dir and its base.
func derive(ctx context.Context, o Options, dir string) (derived, error) {
	d := derived{o: o}
	joined, remove := dir, func() {}
	var err error
	if o.Base != "" {
		if d.image, err = image.Find(ctx, o.Base, authn.DefaultKeychain); err != nil {
			return d, err
		}
		if joined, remove, err = image.Derive(ctx, o.Base, dir); err != nil {
			return d, err
		}
	}
	defer remove()
	if d.pkg, err = readPackage(o, dir, joined); err != nil {
		return d, err
	}
	d.pkg.Version = cmp.Or(o.PackageVersion, d.pkg.Version)
	if d.image != nil {
		joined = dir
	}
	if d.tree, err = packageTree(joined); err != nil {
		return d, err
	}
	names, err := leftOut(dir)
	if len(names) > 0 {
		fmt.Fprintf(o.Log, "left out of the image: %s\n", packagefile.Printable(strings.Join(names, ", ")))
	}
	return d, errors.Join(err, setVersion(d.tree, d.pkg.Version))
}

// layers of the base, and that of the package above them.
func (d derived) layers(ctx context.Context, platform v1.Platform) ([]v1.Layer, error) {
	own, err := d.tree.Layer()
	if err != nil {
		return nil, err
	}
	if d.image == nil {
		base, err := baseLayer(ctx, d.o, platform)
		return []v1.Layer{base, own}, err
	}
	img := d.image.For(platform)
	if img == nil {
		return nil, fmt.Errorf("the base %s has no image for it; build for others alone with --platform (PLATFORMS= of make package)", d.o.Base)
	}
	below, err := img.Layers()
	return append(below, own), err
}

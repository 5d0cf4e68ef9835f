package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Find finds the image that a name stands for: an OCI layout, a docker archive
// or, for what is no path on this machine, a reference. There is none, without
// an error, if the name is that of a package's own folder or config.json. What
// begins with /, ./ or ../ is never taken for a reference. keys are the
// credentials for registries; ctx is for the whole use of the image.
func Find(ctx context.Context, name string, keys authn.Keychain) (*Image, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil && isPath(name):
		return nil, fmt.Errorf("find the package: %w", err)
	case err != nil:
		found, err := FromRegistry(ctx, name, keys)
		if err != nil {
			return nil, fmt.Errorf("there is no file or folder %s here; taken for an image: %w", name, err)
		}
		return found, nil
	case info.IsDir() && IsLayout(name):
		return FromLayout(ctx, name)
	case info.IsDir() || filepath.Base(name) == packagefile.ConfigFile:
		return nil, nil //nolint:nilnil // No image is an answer here.
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a folder nor a file; give it as a file", name)
	}
	return FromArchive(ctx, name)
}

// isPath reports whether a name can only be meant as a path.
func isPath(name string) bool {
	return name == "." || name == ".." ||
		slices.ContainsFunc([]string{"/", "./", "../"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Derive makes a folder with the package in the folder dir as it is in an image
// that is derived from another one: base, by a name as [Find] takes it, or a
// package folder. Of what both have, that of dir counts. Call remove when the
// folder is not needed any more.
func Derive(ctx context.Context, base, dir string) (joined string, remove func(), err error) {
	temp, err := os.MkdirTemp("", "skyhook-package-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(temp) }
	joined = filepath.Join(temp, packagePath)
	if err = layBase(ctx, base, temp); err == nil {
		err = copyOver(dir, joined)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("put the package on its base %s: %w", base, err)
	}
	return joined, remove, nil
}

func layBase(ctx context.Context, base, temp string) error {
	found, err := Find(ctx, base, authn.DefaultKeychain)
	if err != nil {
		return err
	}
	if found != nil {
		return found.extract(ctx, temp)
	}
	joined := filepath.Join(temp, packagePath)
	return errors.Join(os.Mkdir(joined, 0o755), copyOver(packagefile.FolderOf(base), joined))
}

// For returns the image for a platform; nil if there is none.
func (i *Image) For(platform v1.Platform) v1.Image {
	at := slices.IndexFunc(i.parts, func(p part) bool {
		return p.platform.OS == platform.OS && p.platform.Architecture == platform.Architecture
	})
	if at < 0 {
		return nil
	}
	return i.parts[at].Image
}

// extract unpacks the package of the image for this machine, or of the first
// if there is none, with all that is in it.
func (i *Image) extract(ctx context.Context, temp string) error {
	img := i.For(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	if img == nil {
		img = i.parts[0].Image
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	left := int64(maxStream)
	c := &content{root: root, leftOut: map[string]packagefile.Problem{}, left: &left, whole: true}
	if err := c.unpack(ctx, img); err != nil {
		return err
	}
	if info, err := root.Lstat(packagePath); err != nil || !info.IsDir() {
		return errors.New(PackageDir + " is not a folder in the image; name the image of a package")
	}
	return packagefile.Report{Errors: c.problems()}.Err()
}

// copyOver copies what a package folder has over a folder. Names that begin with
// a dot, such as .git, are no part of a package.
func copyOver(dir, target string) error {
	to, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, ".") {
			return skipped(entry)
		}
		if err := copyEntry(path, entry, to, name); err != nil {
			return fmt.Errorf("copy %s: %w", packagefile.Printable(path), err)
		}
		return nil
	})
}

func skipped(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func copyEntry(path string, entry fs.DirEntry, to *os.Root, name string) error {
	if existing, err := to.Lstat(name); err == nil && (!entry.IsDir() || !existing.IsDir()) {
		if err := to.RemoveAll(name); err != nil {
			return err
		}
	}
	switch {
	case entry.IsDir():
		return to.MkdirAll(name, 0o755)
	case entry.Type() == fs.ModeSymlink:
		link, err := os.Readlink(path)
		return errors.Join(err, to.Symlink(link, name))
	case !entry.Type().IsRegular():
		return errors.New("it is neither a file nor a folder nor a symbolic link; remove it")
	}
	return copyFile(path, to, name)
}

func copyFile(path string, to *os.Root, name string) error {
	source, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(info.Mode().Perm()), target.Close())
}

package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// What an image should hold. Packages are scripts and settings; drivers and the
// like are fetched by them.
const (
	fairFiles = 10_000
	fairBytes = 64 << 20
	// maxFiles is what is looked at, for no more than a little of each file is
	// ever on this machine.
	maxFiles = 10 * fairFiles
	// maxWhole bounds what is unpacked to this machine where all of it is wanted.
	maxWhole = 4 << 30
	// maxConfigFile is how much of a config.json is kept: more than is accepted.
	maxConfigFile = 8 << 20
	// maxStream bounds the layers, unpacked, of all platforms, against endless ones.
	maxStream = 32 << 30
)

// packagePath is PackageDir in archives, whose names are relative.
const packagePath = "skyhook-package"

// The names with which layers take away what lower layers brought.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// content is what was unpacked of an image: its package, and of the programs
// that the operator needs an empty file each.
//
// Layers are applied here from the lowest up, not by mutate.Extract, which
// silently leaves out symbolic links that lead out of the image, the very ones
// to be reported, and remembers the name of every file of the image.
type content struct {
	root *os.Root
	// leftOut has the files that could not be unpacked, by name.
	leftOut map[string]packagefile.Problem
	// refused are the names that no file may have, whatever upper layers do.
	refused []packagefile.Problem
	// written are the names of the present layer.
	written map[string]bool
	files   int
	bytes   int64
	// whole says that files are wanted with all their content.
	whole bool
	// left is how much more will be read, in bytes; other platforms count, too.
	left *int64
}

func unpack(ctx context.Context, img v1.Image, root *os.Root, left *int64) (*content, error) {
	c := &content{root: root, leftOut: map[string]packagefile.Problem{}, left: left}
	err := c.unpack(ctx, img)
	return c, err
}

func (c *content) unpack(ctx context.Context, img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("list its layers: %w", err)
	}
	for i, layer := range layers {
		if err := c.layer(ctx, layer); err != nil {
			return fmt.Errorf("unpack layer %d of %d: %w", i+1, len(layers), err)
		}
	}
	return nil
}

func (c *content) layer(ctx context.Context, layer v1.Layer) error {
	stream, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	bounded := &io.LimitedReader{R: until(ctx, stream), N: *c.left}
	c.written = map[string]bool{}
	archive := tar.NewReader(bounded)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.entry(header, archive)
		}
		if err != nil {
			return c.tooLong(bounded, err)
		}
	}
	// To its very end, where its digest is verified.
	if _, err := io.Copy(io.Discard, bounded); err != nil {
		return err
	}
	*c.left = bounded.N
	return c.tooLong(bounded, nil)
}

func (c *content) tooLong(bounded *io.LimitedReader, err error) error {
	if bounded.N <= 0 {
		return fmt.Errorf("the image is larger than %d GiB, all platforms together", maxStream>>30)
	}
	return err
}

func (c *content) entry(header *tar.Header, r io.Reader) error {
	// Rooted first: no name leads out, whatever it has.
	name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case name == "" || header.Typeflag == tar.TypeXGlobalHeader:
		return nil
	case base == opaque:
		return c.clear(dir)
	case strings.HasPrefix(base, whiteout):
		return c.remove(path.Join(dir, base[len(whiteout):]))
	case !wanted(name):
		return nil
	}
	problem, refused := checkNames(name, header.Linkname)
	if err := c.count(name, header.Size, refused); err != nil {
		return err
	}
	if refused {
		c.refused = append(c.refused, problem)
		return nil
	}
	c.written[name] = true
	if err := c.write(name, header, r); err != nil {
		return fmt.Errorf("%s: %w", packagefile.Printable(header.Name), err)
	}
	return nil
}

// count holds the package to its limits.
func (c *content) count(name string, size int64, refused bool) error {
	if inPackage(name) {
		c.files++
		// A header may say anything, and so much is too much already.
		c.bytes = min(c.bytes+size, maxStream)
		// Layers need not list the folders of a file, yet they are made.
		for dir := path.Dir(name); !refused && dir != packagePath && dir != "." && !c.has(dir); dir = path.Dir(dir) {
			c.files++
		}
	}
	if c.files > maxFiles {
		return fmt.Errorf("the package has more than %d files and folders; let its scripts fetch what is large", maxFiles)
	}
	if c.whole && c.bytes > maxWhole {
		return fmt.Errorf("the package has more than %d GiB; let its scripts fetch what is large", maxWhole>>30)
	}
	return nil
}

// checkNames finds what could not be unpacked, on a host neither.
func checkNames(name, target string) (problem packagefile.Problem, bad bool) {
	file := strings.TrimPrefix(name, packagePath+"/")
	problem, bad = packagefile.CheckName(file)
	if !bad && len(target) > packagefile.MaxPath {
		return packagefile.Problem{
			File: file, Message: fmt.Sprintf("is a link to a name of %d bytes", len(target)),
			Fix: fmt.Sprintf("shorten it: a name may have %d bytes, folders included", packagefile.MaxPath),
		}, true
	}
	return problem, bad
}

// wanted reports whether a file matters here: the package, the programs, and
// the folders of programs, one of which may be a link to the other.
func wanted(name string) bool {
	if inPackage(name) || name == "bin" || name == "usr/bin" {
		return true
	}
	base, inBin := strings.CutPrefix(strings.TrimPrefix(name, "usr/"), "bin/")
	return inBin && slices.ContainsFunc(programs, func(p program) bool { return p.name == base })
}

func inPackage(name string) bool {
	return name == packagePath || strings.HasPrefix(name, packagePath+"/")
}

func (c *content) has(name string) bool {
	_, err := c.root.Lstat(name)
	return err == nil
}

// remove takes away a file or folder, which need not exist.
func (c *content) remove(name string) error {
	delete(c.leftOut, name)
	info, err := c.root.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // It is not there.
	}
	// The folders of those that were left out were made. To look through all of them
	// for each file as well would take an hour where there are many.
	if info.IsDir() {
		maps.DeleteFunc(c.leftOut, func(file string, _ packagefile.Problem) bool { return strings.HasPrefix(file, name+"/") })
	}
	return c.root.RemoveAll(name)
}

// clear takes away what lower layers brought to a folder.
func (c *content) clear(dir string) error {
	if dir != "" && !c.has(dir) {
		return nil
	}
	var old []string
	err := fs.WalkDir(c.root.FS(), filepath.Join(".", dir), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !c.written[name] {
			old = append(old, name)
		}
		return err
	})
	for file := range c.leftOut {
		if !c.written[file] && (dir == "" || strings.HasPrefix(file, dir+"/")) {
			old = append(old, file)
		}
	}
	for _, name := range old {
		err = errors.Join(err, c.remove(name))
	}
	return err
}

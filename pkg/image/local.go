package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// refName is the annotation with which a layout names its images.
const refName = "org.opencontainers.image.ref.name"

// IsLayout reports whether a folder is an OCI layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}

// FromLayout finds the images in an OCI layout folder. ctx is for the whole use
// of the image.
func FromLayout(ctx context.Context, dir string) (*Image, error) {
	// It is read into memory at once.
	if info, err := os.Stat(filepath.Join(dir, "index.json")); err == nil && (!info.Mode().IsRegular() || info.Size() > maxConfig) {
		return nil, fmt.Errorf("read the OCI layout %s: index.json is no file of at most %d bytes", dir, maxConfig)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read the OCI layout %s: %w", dir, err)
	}
	result := &Image{name: "OCI layout " + dir, whole: true}
	if err := result.addIndex(index, nil, 0); err != nil {
		return nil, fmt.Errorf("read the OCI layout %s: %w", dir, err)
	}
	for n := range result.parts {
		result.parts[n].Image = untilImage{result.parts[n].Image, ctx}
	}
	return result.found()
}

// FromIndex takes an image that was just built, and the reference it will have.
func FromIndex(reference string, index v1.ImageIndex) (*Image, error) {
	result := &Image{name: "image " + reference, whole: true}
	if err := result.addIndex(index, tagsOf(reference), 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", reference, err)
	}
	return result.found()
}

// maxDepth bounds how indexes are nested: a layout's own, that of an image for
// several platforms, and one more for tools that wrap it.
const maxDepth = 3

func (i *Image) addIndex(index v1.ImageIndex, tags []string, depth int) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return errors.New("indexes are nested too deeply")
	}
	for _, d := range manifest.Manifests {
		named := tags
		if reference := d.Annotations[refName]; reference != "" {
			named = tagsOf(reference)
		}
		if err := i.addManifest(index, d, named, depth); err != nil {
			return err
		}
	}
	return nil
}

func (i *Image) addManifest(index v1.ImageIndex, d v1.Descriptor, tags []string, depth int) error {
	switch {
	case d.MediaType.IsIndex():
		child, err := index.ImageIndex(d.Digest)
		if err != nil {
			return err
		}
		return i.addIndex(child, tags, depth+1)
	case !d.MediaType.IsImage() || d.Platform != nil && d.Platform.OS != "linux":
		// Signatures, attestations (platform unknown/unknown), other systems.
		return nil
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return err
	}
	if err := checkConfigSize(img); err != nil {
		return err
	}
	return i.add(img, d.Platform, tags)
}

// tagsOf reads a full reference or, as some layouts have it, a tag alone.
func tagsOf(reference string) []string {
	if !strings.ContainsAny(reference, ":/@") {
		return []string{reference}
	}
	if tag, err := name.NewTag(reference); err == nil {
		return []string{tag.TagStr()}
	}
	return nil
}

// FromArchive finds the images in a docker archive, as docker save writes it.
// ctx is for the whole use of the image.
func FromArchive(ctx context.Context, file string) (*Image, error) {
	open := func() (io.ReadCloser, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		return untilClosed(ctx, f), nil
	}
	manifest, err := tarball.LoadManifest(open)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("read %s: %w", file, context.Cause(ctx))
	}
	if err != nil {
		return nil, notAnArchive(file, err)
	}
	if err := checkArchive(open, manifest); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	result := &Image{name: "archive " + file}
	for _, d := range manifest {
		if err := result.addArchived(open, d); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return result.found()
}

// checkArchive looks at the sizes in an archive before anything of it is read
// into memory.
func checkArchive(open tarball.Opener, manifest tarball.Manifest) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	archive := tar.NewReader(f)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if isSparse(header) {
			return fmt.Errorf("the file %s in it has holes, which no archive of an image has; write the archive anew with docker save", packagefile.Printable(header.Name))
		}
		isConfig := slices.ContainsFunc(manifest, func(d tarball.Descriptor) bool { return path.Clean(d.Config) == path.Clean(header.Name) })
		if isConfig && header.Size > maxConfig {
			return fmt.Errorf("the configuration of the image has more than %d bytes", maxConfig)
		}
	}
}

// isSparse is true for a file that is larger than what the archive has of it.
func isSparse(header *tar.Header) bool {
	if header.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func (i *Image) addArchived(open tarball.Opener, d tarball.Descriptor) error {
	var (
		tags []string
		key  *name.Tag
	)
	for _, text := range d.RepoTags {
		tag, err := name.NewTag(text)
		if err != nil {
			return err
		}
		tags, key = append(tags, tag.TagStr()), &tag
	}
	img, err := tarball.Image(open, key)
	if err != nil {
		return err
	}
	return i.add(img, nil, tags)
}

func notAnArchive(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("read the archive: %w", err)
	}
	return fmt.Errorf("%s is not a docker archive: %w; write one with docker save, or unpack an OCI archive (tar -xf) and give its folder", file, err)
}

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

// The annotations with which a layout names its images.
const (
	refName        = "org.opencontainers.image.ref.name"
	containerdName = "io.containerd.image.name"
)

// IsLayout reports whether a folder is an OCI layout.
func IsLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}

// Stored is an image, or an index of several, as a layout or an archive has it.
type Stored struct {
	// Names are what it is called there, as whoever wrote it did: references, or a
	// tag alone. There may be none.
	Names []string
	// Image is nil for an index, and Index for an image.
	Image v1.Image
	Index v1.ImageIndex
	// Platform that the image is said to be for; nil if only its configuration tells.
	Platform *v1.Platform
}

// ReadLayout visits what an OCI layout folder lists, but for what is no image
// and what is for other systems than Linux. It ends with the first error.
func ReadLayout(dir string, visit func(Stored) error) error {
	// It is read into memory at once.
	info, err := os.Stat(filepath.Join(dir, "index.json"))
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxConfig) {
		return fmt.Errorf("index.json is no file of at most %d bytes", maxConfig)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	return eachIn(index, visit)
}

// eachIn visits one after the other, so that nothing more is fetched after the
// first error.
func eachIn(index v1.ImageIndex, visit func(Stored) error) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		s := Stored{Names: namesOf(d.Annotations), Platform: d.Platform}
		switch {
		case d.MediaType.IsIndex():
			s.Index, err = index.ImageIndex(d.Digest)
		case !d.MediaType.IsImage() || d.Platform != nil && d.Platform.OS != "linux":
			// Signatures, attestations (platform unknown/unknown), other systems.
			continue
		default:
			s.Image, err = index.Image(d.Digest)
		}
		if err == nil {
			err = visit(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// namesOf is what an image in a layout is called. Where the name is a tag alone,
// containerd tells the whole of it.
func namesOf(annotations map[string]string) []string {
	short, whole := annotations[refName], annotations[containerdName]
	if whole != "" && !strings.Contains(short, "/") {
		short = whole
	}
	if short == "" {
		return nil
	}
	return []string{short}
}

// FromLayout finds the images in an OCI layout folder. ctx is for the whole use
// of the image.
func FromLayout(ctx context.Context, dir string) (*Image, error) {
	result := &Image{name: "OCI layout " + dir, whole: true}
	if err := ReadLayout(dir, func(s Stored) error { return result.addStored(s, nil, 0) }); err != nil {
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
	if err := result.addIndex(index, tagsOf([]string{reference}), 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", reference, err)
	}
	return result.found()
}

// maxDepth bounds how indexes are nested: a layout's own, that of an image for
// several platforms, and one more for tools that wrap it.
const maxDepth = 3

func (i *Image) addIndex(index v1.ImageIndex, tags []string, depth int) error {
	if depth > maxDepth {
		return errors.New("indexes are nested too deeply")
	}
	return eachIn(index, func(s Stored) error { return i.addStored(s, tags, depth) })
}

// addStored adds what an index of that depth lists. Its own names come before
// the tags of the index.
func (i *Image) addStored(s Stored, tags []string, depth int) error {
	if len(s.Names) > 0 {
		tags = tagsOf(s.Names)
	}
	if s.Index != nil {
		return i.addIndex(s.Index, tags, depth+1)
	}
	if err := checkConfigSize(s.Image); err != nil {
		return err
	}
	return i.add(s.Image, s.Platform, tags)
}

// tagsOf are the tags in names: full references or, as some layouts have them,
// tags alone.
func tagsOf(names []string) []string {
	var tags []string
	for _, text := range names {
		if !strings.ContainsAny(text, ":/@") {
			tags = append(tags, text)
		} else if tag, err := name.NewTag(text); err == nil {
			tags = append(tags, tag.TagStr())
		}
	}
	return tags
}

// ReadArchive visits the images in a docker archive, as docker save writes it,
// until the first error. ctx is for the whole use of the images.
func ReadArchive(ctx context.Context, file string, visit func(Stored) error) error {
	open := func() (io.ReadCloser, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		return untilClosed(ctx, f), nil
	}
	manifest, err := tarball.LoadManifest(open)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read %s: %w", file, context.Cause(ctx))
	case err != nil:
		return notAnArchive(file, err)
	}
	err = checkArchive(open, manifest)
	for n := 0; n < len(manifest) && err == nil; n++ {
		s := Stored{Names: manifest[n].RepoTags}
		if s.Image, err = archived(open, s.Names); err == nil {
			err = visit(s)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// archived is one image of an archive; one without a name can only be alone.
func archived(open tarball.Opener, names []string) (v1.Image, error) {
	if len(names) == 0 {
		return tarball.Image(open, nil)
	}
	tag, err := name.NewTag(names[0])
	if err != nil {
		return nil, err
	}
	return tarball.Image(open, &tag)
}

// FromArchive finds the images in a docker archive, as docker save writes it.
// ctx is for the whole use of the image.
func FromArchive(ctx context.Context, file string) (*Image, error) {
	result := &Image{name: "archive " + file}
	err := ReadArchive(ctx, file, func(s Stored) error { return result.add(s.Image, nil, tagsOf(s.Names)) })
	if err != nil {
		return nil, err
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
			return fmt.Errorf("the file %s in it has holes, which no archive of an image has; write the archive again with "+
				"docker save", packagefile.Printable(header.Name))
		}
		isConfig := slices.ContainsFunc(manifest, func(d tarball.Descriptor) bool {
			return path.Clean(d.Config) == path.Clean(header.Name)
		})
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

func notAnArchive(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("read the archive: %w", err)
	}
	return fmt.Errorf("%s is not a docker archive: %w; write one with docker save, or unpack an OCI archive (tar -xf) "+
		"and give its folder", file, err)
}

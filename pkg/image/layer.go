package image

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the one time that images know, so that the clock is no input of them.
var epoch = time.Unix(0, 0).UTC()

// Tree is the content of a layer by path, with slashes and without a leading
// one, such as etc/passwd. Parent folders that are missing are added when it is
// written.
type Tree map[string]Entry

// Entry is a file, a folder (Dir) or a symbolic link (Link is its target).
type Entry struct {
	Content []byte
	// Mode has the permissions as a tar header does, such as 0o755.
	Mode int64
	Link string
	Dir  bool
}

// Program is a file that everybody may execute.
func Program(content []byte) Entry { return Entry{Content: content, Mode: 0o755} }

// File is a file that everybody may read.
func File(content []byte) Entry { return Entry{Content: content, Mode: 0o644} }

// Folder is a folder with a mode, such as 0o1777.
func Folder(mode int64) Entry { return Entry{Dir: true, Mode: mode} }

// Symlink is a symbolic link.
func Symlink(target string) Entry { return Entry{Link: target, Mode: 0o777} }

// Layer writes the tree as a layer: entries sorted by path, all owned by root,
// all as old as the epoch. Equal trees give equal digests.
func (t Tree) Layer() (v1.Layer, error) {
	t = t.withParents()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].write(w, name); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

func (t Tree) withParents() Tree {
	all := maps.Clone(t)
	for name := range t {
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if _, exists := all[parent]; !exists {
				all[parent] = Folder(0o755)
			}
		}
	}
	return all
}

func (e Entry) write(w *tar.Writer, name string) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: e.Mode, Size: int64(len(e.Content)), ModTime: epoch, Format: tar.FormatPAX,
	}
	switch {
	case e.Dir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case e.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(e.Content)
	return err
}

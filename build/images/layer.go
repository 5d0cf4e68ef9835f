package images

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree is the content of a layer by path, without a leading slash. Missing parent folders are added when it is written.
type tree map[string]entry

// entry is a file, a folder (dir) or a symbolic link (link is its target).
type entry struct {
	content []byte
	mode    int64
	link    string
	dir     bool
}

func program(content []byte) entry   { return entry{content: content, mode: 0o755} }
func file(content []byte) entry      { return entry{content: content, mode: 0o644} }
func folder(mode int64) entry        { return entry{dir: true, mode: mode} }
func symlink(target string) entry    { return entry{link: target, mode: 0o777} }
func scripted(lines ...string) entry { return program([]byte(strings.Join(lines, "\n") + "\n")) }

// layer writes the tree as a layer: entries sorted by path, all owned by root, all as old as the epoch.
func (t tree) layer() (v1.Layer, error) {
	t = t.withParents()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := writeEntry(w, name, t[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

func (t tree) withParents() tree {
	all := maps.Clone(t)
	for name := range t {
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if _, exists := all[parent]; !exists {
				all[parent] = folder(0o755)
			}
		}
	}
	return all
}

func writeEntry(w *tar.Writer, name string, e entry) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: e.mode, Size: int64(len(e.content)), ModTime: epoch, Format: tar.FormatPAX}
	switch {
	case e.dir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case e.link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(e.content)
	return err
}

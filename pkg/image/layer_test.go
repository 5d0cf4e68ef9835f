package image

import (
	"archive/tar"
	"errors"
	"io"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestLayerIsSortedAndTimeless(t *testing.T) {
	layer, err := Tree{
		"z/run.sh":    Program([]byte("#!/bin/sh\n")),
		"a":           File([]byte("text")),
		"tmp":         Folder(0o1777),
		"bin/x/y/z":   Symlink("../busybox"),
		"bin/busybox": Program(nil),
	}.Layer()
	must(t, err)
	type row struct {
		name string
		kind byte
		mode int64
		link string
	}
	var got []row
	for _, h := range headers(t, layer) {
		got = append(got, row{h.Name, h.Typeflag, h.Mode, h.Linkname})
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: uid %d, gid %d, time %v; want all zero", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
	want := []row{
		{"a", tar.TypeReg, 0o644, ""},
		{"bin/", tar.TypeDir, 0o755, ""},
		{"bin/busybox", tar.TypeReg, 0o755, ""},
		{"bin/x/", tar.TypeDir, 0o755, ""},
		{"bin/x/y/", tar.TypeDir, 0o755, ""},
		{"bin/x/y/z", tar.TypeSymlink, 0o777, "../busybox"},
		{"tmp/", tar.TypeDir, 0o1777, ""},
		{"z/", tar.TypeDir, 0o755, ""},
		{"z/run.sh", tar.TypeReg, 0o755, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestDigestStays: whoever builds a version again gets the layers that were released, byte by byte.
func TestDigestStays(t *testing.T) {
	layer, err := Tree{"bin/sh": Program([]byte("x")), "etc/a": File([]byte("text")), "tmp": Folder(0o1777), "b": Symlink("etc/a")}.Layer()
	must(t, err)
	// Not that of the packed layer: compression is a matter of the Go release.
	got, err := layer.DiffID()
	if want := "sha256:2932afc3b26dc566d20e423dbf86e4b62110252976f750a3c819caa3f07bdb7c"; err != nil || got.String() != want {
		t.Errorf("the layer is %s, want %s; error %v", got, want, err)
	}
}

func headers(t *testing.T, layer v1.Layer) []*tar.Header {
	t.Helper()
	content, err := layer.Uncompressed()
	must(t, err)
	defer content.Close()
	var all []*tar.Header
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, header)
	}
}

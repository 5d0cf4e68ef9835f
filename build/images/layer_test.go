package images

import (
	"archive/tar"
	"errors"
	"io"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestLayerIsSortedAndTimeless(t *testing.T) {
	layer, err := tree{
		"z/run.sh":    program([]byte("#!/bin/sh\n")),
		"a":           file([]byte("text")),
		"tmp":         folder(0o1777),
		"bin/x/y/z":   symlink("../busybox"),
		"bin/busybox": program(nil),
	}.layer()
	if err != nil {
		t.Fatal(err)
	}
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

func headers(t *testing.T, layer v1.Layer) []*tar.Header {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var all []*tar.Header
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, header)
	}
}

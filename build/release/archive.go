package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// member is a file in an archive.
type member struct {
	name    string
	mode    int64
	content []byte
}

func (m member) header(size int64) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg, Name: m.name, Mode: m.mode, Size: size, ModTime: time.Unix(0, 0).UTC(),
		Format: tar.FormatPAX,
	}
}

// tarFolder writes the files of a folder into an archive: sorted by path, all owned by root, all as old as the epoch.
func tarFolder(file, folder string) error {
	return writeFile(file, func(out io.Writer) error {
		archive := tar.NewWriter(out)
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			return tarFile(archive, filepath.ToSlash(name), path)
		})
		return errors.Join(err, archive.Close())
	})
}

func tarFile(archive *tar.Writer, name, file string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(member{name: name, mode: 0o644}.header(info.Size())); err != nil {
		return err
	}
	_, err = io.Copy(archive, content)
	return err
}

// untar writes the files of an archive, as tarFolder makes it, into a new folder.
func untar(file, folder string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder) // nothing gets out of it, whatever the names are
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpack(root, header.Name, archive); err != nil {
			return err
		}
	}
}

func unpack(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// tarGzip writes members into a compressed archive, sorted by name.
func tarGzip(file string, members []member) error {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return writeFile(file, func(out io.Writer) error {
		compressed := gzip.NewWriter(out)
		archive := tar.NewWriter(compressed)
		for _, m := range members {
			if err := archive.WriteHeader(m.header(int64(len(m.content)))); err != nil {
				return err
			}
			if _, err := archive.Write(m.content); err != nil {
				return err
			}
		}
		return errors.Join(archive.Close(), compressed.Close())
	})
}

// untarGzip reads the files of a compressed archive.
func untarGzip(content []byte) ([]member, error) {
	uncompressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(uncompressed)
	var members []member
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%s is not a file", header.Name)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		members = append(members, member{header.Name, header.Mode, content})
	}
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

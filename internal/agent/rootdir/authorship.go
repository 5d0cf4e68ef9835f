package rootdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Begin says that steps of the package will run, which may change its files.
func (f Files) Begin() error {
	if !f.any() {
		return nil
	}
	m, err := f.read()
	if err != nil {
		return err
	}
	return f.begin(m)
}

// begin finds out what others have changed since the package was last at work.
// If it was killed at work, nobody can tell its changes from theirs; it ships
// its files again and goes on, so they count as its own.
func (f Files) begin(m *manifest) error {
	if m.Working {
		return nil
	}
	for path, e := range m.Files {
		if e.Kind == directory {
			continue
		}
		sum, err := sumOf(path, e.Through)
		if err != nil {
			return err
		}
		e.Theirs = sum != nothing && !slices.Contains(e.Sums, sum)
		m.Files[path] = e
	}
	m.Working = true
	return f.write(m)
}

// Settle says that the package is no longer at work: it has left its files as
// they are now.
func (f Files) Settle() error {
	if !f.any() {
		return nil
	}
	m, err := f.read()
	if err != nil {
		return err
	}
	for path, e := range m.Files {
		if e.Kind == directory || e.Theirs {
			continue
		}
		sum, err := sumOf(path, e.Through)
		if err != nil {
			return err
		}
		e.Sums = []string{sum}
		m.Files[path] = e
	}
	m.Working = false
	return f.write(m)
}

const (
	nothing = "nothing"
	// other is a directory, a device, or what else no package ships.
	other = "other"
)

// sumOf stands for what is at the path, or where a link leads if the entry is
// about that.
func sumOf(path string, through bool) (string, error) {
	if target, err := os.Readlink(path); err == nil && !through {
		return sumOfLink(target), nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nothing, nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return other, nil
	}
	file, err := os.Open(path)
	return sumOfFile(file, err)
}

func sumOfFile(file io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func sumOfLink(target string) string {
	sum, _ := sumOfFile(io.NopCloser(strings.NewReader(target)), nil)
	return "link " + sum
}

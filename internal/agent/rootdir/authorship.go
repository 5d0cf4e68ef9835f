package rootdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Begin says that steps of the package will run, which may change its files.
func (s Store) Begin(ctx context.Context) error { return s.unlessEmpty(ctx, s.begin) }

// begin finds out what others have changed since the package was last at work.
// If it was killed at work, nobody can tell its changes from theirs; it ships
// its files again and goes on, so they count as its own.
func (s Store) begin(m *manifest, others []neighbour) error {
	if m.Working {
		return nil
	}
	for path, e := range m.Files {
		if e.Kind == directory {
			continue
		}
		ours, err := s.isOurs(path, e, others)
		if err != nil {
			return err
		}
		e.Theirs = !ours
		m.Files[path] = e
	}
	m.Working = true
	return s.write(m)
}

// Settle says that the package is no longer at work: it has left its files as
// they are now.
func (s Store) Settle(ctx context.Context) error {
	return s.unlessEmpty(ctx, func(m *manifest, _ []neighbour) error {
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
		return s.write(m)
	})
}

// isOurs reports whether there is at the path what the package has left there,
// or a neighbour that ships the path as well; or nothing.
func (s Store) isOurs(path string, e entry, others []neighbour) (bool, error) {
	sum, err := sumOf(path, e.Through)
	if err != nil {
		return false, err
	}
	if sum == nothing || slices.Contains(e.Sums, sum) {
		return true, nil
	}
	for _, n := range others {
		if slices.Contains(n.manifest.Files[path].Sums, sum) {
			return true, nil
		}
	}
	name, err := filepath.Rel(s.Root, path)
	if err != nil {
		return false, err
	}
	for _, dir := range s.Copies {
		if shipped, err := sumOf(filepath.Join(dir, name), false); err == nil && shipped == sum {
			return true, nil
		}
	}
	return false, nil
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

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

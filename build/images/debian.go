package images

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The packages of Debian that the base has files of. Debian keeps only the newest version of each, so which one it is
// the archive says, and a release tells which it was.
const (
	busybox = "busybox-static"
	bash    = "bash-static"
)

// debianPackages are these, with their licenses as SPDX expressions.
var debianPackages = []struct{ name, license string }{{bash, "GPL-3.0-or-later"}, {busybox, "GPL-2.0-only"}}

// askAgain is how long what the archive had is taken for the newest.
const askAgain = 24 * time.Hour

// DebianFile is the file of a package of Debian for one architecture.
type DebianFile struct {
	Name, Version, Arch string
	// Distribution whose archive it is of, as package URLs have it: debian-12.
	Distribution string
	// License as an SPDX expression.
	License string
	// Sum is the SHA-256 of the file.
	Sum string

	path string
}

// debian has the files of all packages by architecture: the images of one build are made of the same.
type debian map[string][]DebianFile

// files returns those in o.Debs or, by default, the archive's newest, which the cache has if the archive was asked
// within a day.
func (d debian) files(ctx context.Context, o Options, arch string) ([]DebianFile, error) {
	if files, known := d[arch]; known {
		return files, nil
	}
	dir := cmp.Or(o.Debs, filepath.Join(o.Cache, "debs"))
	if err := fetchDebian(ctx, o, dir, arch); err != nil {
		return nil, err
	}
	files := make([]DebianFile, 0, len(debianPackages))
	for _, p := range debianPackages {
		path, _, err := lastFetched(dir, p.name, arch)
		if err != nil {
			return nil, err
		}
		file := DebianFile{Name: p.name, Arch: arch, Distribution: distribution(), License: p.license, path: path}
		if err := file.read(ctx); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Log, "Debian's %s %s for %s: %s\n", file.Name, file.Version, arch, path)
		files = append(files, file)
	}
	d[arch] = files
	return files, nil
}

// fetchDebian fetches into dir what it lacks, and what may have become old in the cache.
func fetchDebian(ctx context.Context, o Options, dir, arch string) error {
	var names []string
	lacks := false
	for _, p := range debianPackages {
		path, fetched, err := lastFetched(dir, p.name, arch)
		if err != nil {
			return err
		}
		lacks = lacks || path == ""
		if path == "" || o.Debs == "" && time.Since(fetched) > askAgain {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	fmt.Fprintf(o.Log, "asking Debian for %s for %s\n", strings.Join(names, " and "), arch)
	err := aptDownload(ctx, dir, arch, names)
	if err != nil && !lacks {
		fmt.Fprintf(o.Log, "warning: Debian's archive cannot be asked, so what it had last is taken: %v\n", err)
		return nil
	}
	return err
}

// lastFetched finds the file of a package that was fetched last, and says when; none if the path is empty.
func lastFetched(dir, name, arch string) (path string, fetched time.Time, err error) {
	all, err := filepath.Glob(filepath.Join(dir, name+"_*_"+arch+".deb"))
	if err != nil {
		return "", time.Time{}, err
	}
	for _, candidate := range all {
		info, err := os.Stat(candidate)
		if err != nil {
			return "", time.Time{}, err
		}
		if path == "" || info.ModTime().After(fetched) {
			path, fetched = candidate, info.ModTime()
		}
	}
	return path, fetched, nil
}

// distribution is the machine's: apt asks that one's archive.
func distribution() string {
	text, _ := os.ReadFile("/etc/os-release")
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = strings.Trim(value, `"`)
	}
	return values["ID"] + "-" + values["VERSION_ID"]
}

// read notes version and sum of the file.
func (f *DebianFile) read(ctx context.Context) error {
	version, err := f.dpkg(ctx, "--field", f.path, "Version")
	if err != nil {
		return err
	}
	content, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	f.Version, f.Sum = strings.TrimSpace(string(version)), hex.EncodeToString(sum[:])
	return nil
}

// extract returns the content of one file in the package.
func (f *DebianFile) extract(ctx context.Context, name string) ([]byte, error) {
	content, err := f.dpkg(ctx, "--fsys-tarfile", f.path)
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("debian package %s has no file %s", f.Name, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.path, err)
		}
		if strings.TrimPrefix(header.Name, "./") == name {
			return io.ReadAll(archive)
		}
	}
}

// dpkg reads the package, which it refuses if the file is damaged.
func (f *DebianFile) dpkg(ctx context.Context, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "dpkg-deb", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("dpkg-deb was not found: package images need it for Debian's static bash and busybox")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: remove it, and it is fetched again (%w: %s)", f.path, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

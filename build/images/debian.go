package images

import (
	"archive/tar"
	"bytes"
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
)

// DebianPackage is a package of Debian at one version.
type DebianPackage struct {
	Name    string
	Version string
	// License as an SPDX expression.
	License string
	// Sums are the SHA-256 of its file by architecture.
	Sums map[string]string
}

var (
	busybox = DebianPackage{"busybox-static", "1:1.35.0-4+deb12u1+b1", "GPL-2.0-only", map[string]string{
		"amd64": "3d3fdbe91d4660c873e14b092c213fe81c1da6362daa236eb25d0171eb108744",
		"arm64": "732c9135564fc71337e0e05fb4da4d11e6c28c1834bce3e405e575afef2a52f5",
	}}
	bash = DebianPackage{"bash-static", "5.2.15-2+b13", "GPL-3.0-or-later", map[string]string{
		"amd64": "f62e37fc6c2c14417f270323066b4c621db5dc151a26f7a1f58e3fc24111d1c8",
		"arm64": "b592f626c16f70b65dc44a8018a49bd115c97249102f6a41260b10d9aa6428eb",
	}}
)

// fetch returns the package's file for an architecture, from the cache if it is there. The file's sum is checked
// always.
func (p DebianPackage) fetch(ctx context.Context, o Options, arch string) (string, error) {
	want, known := p.Sums[arch]
	if !known {
		return "", fmt.Errorf("debian package %s is not pinned for architecture %s", p.Name, arch)
	}
	kept := filepath.Join(o.Cache, "debs", fmt.Sprintf("%s_%s_%s.deb", p.Name, strings.ReplaceAll(p.Version, ":", "%3a"), arch))
	if sum, err := fileSum(kept); err == nil && sum == want {
		return kept, nil
	}
	fmt.Fprintf(o.Log, "fetching %s %s for %s from Debian\n", p.Name, p.Version, arch)
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", err
	}
	// Beside the target, so that the rename at the end is atomic.
	work, err := os.MkdirTemp(filepath.Dir(kept), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fetched, err := aptDownload(ctx, work, arch, p.Name+"="+p.Version)
	if err != nil {
		return "", err
	}
	sum, err := fileSum(fetched)
	if err != nil {
		return "", err
	}
	if sum != want {
		return "", fmt.Errorf("debian package %s %s for %s has sum %s, but %s is pinned", p.Name, p.Version, arch, sum, want)
	}
	return kept, os.Rename(fetched, kept)
}

// extract returns the content of one file of the package.
func (p DebianPackage) extract(ctx context.Context, o Options, arch, name string) ([]byte, error) {
	file, err := p.fetch(ctx, o, arch)
	if err != nil {
		return nil, err
	}
	content, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("dpkg-deb was not found: package images need it for Debian's static bash and busybox")
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", file, err)
	}
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("debian package %s has no file %s", p.Name, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if strings.TrimPrefix(header.Name, "./") == name {
			return io.ReadAll(archive)
		}
	}
}

func fileSum(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

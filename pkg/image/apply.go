package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// write adds an entry of a layer to what lower layers brought.
func (c *content) write(name string, header *tar.Header, r io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		return c.folder(name)
	}
	err := errors.Join(c.remove(name), c.root.MkdirAll(path.Dir(name), 0o755))
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return c.file(name, header, r)
	case tar.TypeSymlink:
		return c.symlink(name, header.Linkname)
	case tar.TypeLink:
		return c.hardLink(name, header.Linkname)
	}
	c.leaveOut(name, fmt.Sprintf("is a %s (type %q in the layer)", kinds[header.Typeflag], header.Typeflag),
		"remove it: a package holds files, folders and symbolic links")
	return nil
}

var kinds = map[byte]string{tar.TypeFifo: "named pipe", tar.TypeChar: "device", tar.TypeBlock: "device"}

func (c *content) folder(name string) error {
	if info, err := c.root.Lstat(name); err == nil && !info.IsDir() {
		if err := c.remove(name); err != nil {
			return err
		}
	}
	// Not with the mode of the layer: it could lock us out.
	return c.root.MkdirAll(name, 0o755)
}

func (c *content) file(name string, header *tar.Header, r io.Reader) error {
	r = io.LimitReader(r, c.kept(name))
	f, err := c.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	// After umask, and readable for us in any case.
	return errors.Join(err, f.Chmod(os.FileMode(header.Mode&0o777)|0o400), f.Close())
}

// kept is how much of a file matters here. It also keeps a file that is large
// only once it is unpacked, such as one with holes, from filling this machine.
func (c *content) kept(name string) int64 {
	switch {
	case inPackage(name) && c.whole:
		return maxWhole
	case name == packagePath+"/"+packagefile.ConfigFile:
		return maxConfigFile
	case inPackage(name):
		return packagefile.MaxScript
	}
	return 0
}

// symlink keeps the links of a package as they are. Elsewhere they only have
// to lead on within what was unpacked, such as from /bin to /usr/bin.
func (c *content) symlink(name, target string) error {
	if !inPackage(name) && path.IsAbs(target) {
		relative, err := filepath.Rel(path.Join("/", path.Dir(name)), target)
		if err != nil {
			return err
		}
		target = relative
	}
	return c.root.Symlink(target, name)
}

func (c *content) hardLink(name, target string) error {
	target = path.Clean("/" + target)[1:]
	switch {
	case !inPackage(name):
		// Busybox's programs are hard links; that they are there is enough.
		return c.file(name, &tar.Header{Mode: 0o755}, nil)
	case c.has(target):
		return c.root.Link(target, name)
	}
	c.leaveOut(name, "is a hard link to /"+target+", out of the package", "copy that file into the package")
	return nil
}

// leaveOut notes why a file of the package was not unpacked, and what to do.
func (c *content) leaveOut(name, message, fix string) {
	c.leftOut[name] = packagefile.Problem{File: strings.TrimPrefix(name, packagePath+"/"), Message: message, Fix: fix}
}

// lint checks the package that was unpacked.
func (c *content) lint(ctx context.Context) (*packagefile.Package, packagefile.Report, error) {
	info, err := c.root.Lstat(packagePath)
	if err != nil || !info.IsDir() {
		var report packagefile.Report
		report.Errors = []packagefile.Problem{{
			File: PackageDir, Message: "is not a folder in the image",
			Fix: "copy the package's files to it (COPY . " + PackageDir + ")",
		}}
		return nil, report, nil
	}
	root, err := c.root.OpenRoot(packagePath)
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	defer func() { _ = root.Close() }()
	pkg, report, err := packagefile.Lint(ctx, root.FS())
	if err != nil {
		return nil, report, err
	}
	report.Errors = append(report.Errors, c.problems()...)
	if c.files > fairFiles || c.bytes > fairBytes {
		report.Warnings = append(report.Warnings, packagefile.Problem{
			File: PackageDir, Message: fmt.Sprintf("has more than %d files and folders or %d MiB", fairFiles, fairBytes>>20),
			Fix: "let its scripts fetch what is large: each stage copies the package to the host",
		})
	}
	return pkg, report, nil
}

// problems are what was refused, and what was left out.
func (c *content) problems() []packagefile.Problem {
	problems := c.refused
	for _, name := range slices.Sorted(maps.Keys(c.leftOut)) {
		problems = append(problems, c.leftOut[name])
	}
	return problems
}

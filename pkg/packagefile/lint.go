package packagefile

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/text"
)

// Lint checks the package at the root of fsys as [Load] does, and finds what
// its author must fix before it is shipped: scripts that cannot be started,
// links and special files that do not survive the way to a host, keys that are
// written twice. fsys should be an [fs.ReadLinkFS], as those of [os] are.
//
// Unlike that of Load, the package is returned as far as it could be read, also
// if the report has errors; it is nil if config.json could not be read at all.
// When ctx is done, its cause is the error.
func Lint(ctx context.Context, fsys fs.FS) (*Package, Report, error) {
	raw, pkg, report, err := parseConfig(fsys)
	if err != nil {
		return nil, report, err
	}
	l := linter{fsys: fsys, report: &report, seen: map[string]bool{}}
	if pkg != nil {
		checkKeys(raw, &report)
		checkTag(pkg, &report)
		checkFiles(fsys, pkg, &report)
		pkg.eachScript(l.named)
	}
	for _, dir := range []string{StepDir, HostFilesDir} {
		if err := l.folder(ctx, dir); err != nil {
			return nil, report, err
		}
	}
	return pkg, report, l.err
}

// What the name of a file may be, so that every tool on its way to a host can
// work with it: no more than Linux takes, and folders within reason.
const (
	// MaxPath is in bytes, from the package's root.
	MaxPath = 4096
	// maxElement is in bytes, of one folder or file alone.
	maxElement = 255
	// maxFolders is how many folders may be in each other.
	maxFolders = 64
	// maxShown is how much reports show of such a name, in bytes.
	maxShown = 103
)

// CheckName returns what is wrong with the name of a file of a package, if
// anything. The problem's File may be shortened.
func CheckName(file string) (problem Problem, bad bool) {
	switch {
	case len(file) > MaxPath:
		return Problem{
			File: text.Cut(file, maxShown), Message: fmt.Sprintf("has a name of %d bytes", len(file)),
			Fix: fmt.Sprintf("rename it: a name may have %d bytes, folders included", MaxPath),
		}, true
	case strings.Count(file, "/") > maxFolders:
		return Problem{
			File: text.Cut(file, maxShown), Message: fmt.Sprintf("is in more than %d folders", maxFolders),
			Fix: "move it, with what is beside it, up in the package",
		}, true
	}
	for element := range strings.SplitSeq(file, "/") {
		if len(element) > maxElement {
			return Problem{
				File: text.Cut(file, maxShown), Message: fmt.Sprintf("has %d bytes between two slashes", len(element)),
				Fix: fmt.Sprintf("rename it: file systems keep %d bytes of each folder's and file's name", maxElement),
			}, true
		}
	}
	return Problem{}, false
}

// linter collects what is wrong with the files of a package.
type linter struct {
	fsys   fs.FS
	report *Report
	// seen are the scripts that were checked.
	seen map[string]bool
	err  error
}

// named checks a script that a step names, if it exists.
func (l *linter) named(pointer, file string, step Step) {
	info, err := fs.Stat(l.fsys, file)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if actual := spelling(l.fsys, file); actual != file {
		l.report.fail(pointer, correction(l.fsys, file), "%s is spelt %s in the package", file, actual)
	}
	if clean := strings.TrimPrefix(file, StepDir+"/"); clean != step.Path {
		l.report.warn(pointer, "write it as "+clean, "%q is not the shortest form of the path", step.Path)
	}
	l.script(file, info, true)
}

// folder checks what is below a folder of the package, which need not exist.
func (l *linter) folder(ctx context.Context, dir string) error {
	info, err := fs.Lstat(l.fsys, dir)
	if err != nil {
		return nil //nolint:nilerr // Scripts in a missing folder are reported one by one; no folder is fine without steps.
	}
	if !info.IsDir() {
		l.report.failFile(dir, "make it a folder", "is not a folder")
		return nil
	}
	cases := map[string]string{}
	return fs.WalkDir(l.fsys, dir, func(file string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("read the package: %w", err)
		}
		if problem, bad := CheckName(file); bad {
			l.report.Errors = append(l.report.Errors, problem)
			// What is below is no better, and there is no end to how much that may be.
			return skip(entry)
		}
		lower := strings.ToLower(file)
		if other, ok := cases[lower]; ok {
			l.report.warnFile(file, "rename one: some file systems keep only one of them",
				"differs from %s only by upper and lower case", other)
		}
		cases[lower] = file
		return l.entry(dir, file, entry)
	})
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (l *linter) entry(dir, file string, entry fs.DirEntry) error {
	switch {
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(l.fsys, file)
		if err != nil {
			return fmt.Errorf("read the package: %w", err)
		}
		checkLink(dir, file, target, l.report)
		return nil
	case !entry.Type().IsRegular():
		l.report.failFile(file, "remove it: a package holds files, folders and symbolic links",
			"is a %s", kindOf(entry.Type()))
		return nil
	case dir != StepDir || path.Ext(file) != ".sh":
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	l.script(file, info, false)
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// checkLink verifies that a symbolic link means the same in the package and on
// the host.
func checkLink(dir, file, target string, report *Report) {
	// In root_dir the folder itself stands for the host's root, elsewhere
	// links may lead anywhere in the package.
	bounds, absolute := ".", false
	if dir == HostFilesDir {
		bounds, absolute = dir, true
	}
	switch {
	case path.IsAbs(target) && absolute:
		return
	case path.IsAbs(target):
		report.failFile(file, "link to a file of the package by a relative path, or copy it",
			"is a symbolic link to %s, out of the package", target)
	case !below(bounds, path.Join(path.Dir(file), target)) && absolute:
		report.failFile(file, "make the target absolute: it is then a path on the host",
			"is a symbolic link to %s, out of %s", target, dir)
	case !below(bounds, path.Join(path.Dir(file), target)):
		report.failFile(file, "link to a file of the package, or copy it",
			"is a symbolic link to %s, out of the package", target)
	}
}

// below reports whether a clean relative path is in a folder or is the folder.
func below(dir, name string) bool {
	if dir == "." {
		return name != ".." && !strings.HasPrefix(name, "../")
	}
	return name == dir || strings.HasPrefix(name, dir+"/")
}

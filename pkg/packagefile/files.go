package packagefile

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkFiles verifies that what config.json names is there, and warns about
// steps that nothing seems to check.
func checkFiles(fsys fs.FS, pkg *Package, report *Report) {
	checked := checkPaths(pkg)
	warned := map[string]bool{}
	pkg.eachStep(func(mode Mode, index int, step Step) {
		if step.Path == "" || unsafePath(step.Path) != "" {
			return
		}
		pointer := pointerTo("modes", string(mode), strconv.Itoa(index), "path")
		file := path.Join(StepDir, step.Path)
		info, err := fs.Stat(fsys, file)
		switch {
		case err != nil:
			report.fail(pointer, "add the script, or correct the path", "%s does not exist in the package", file)
			return
		case !info.Mode().IsRegular():
			report.fail(pointer, "name a script", "%s is not a regular file", file)
			return
		}
		if warned[step.Path] {
			return
		}
		warned[step.Path] = true
		if info.Mode().Perm()&0o111 == 0 {
			report.warn(pointer, "chmod +x it; the agent does so on the host", "%s is not executable", file)
		}
		if !slices.Contains(checked, step.Path) && !slices.Contains(checked, checkNameOf(step.Path)) {
			report.warn(pointer, "add a check step with the path "+checkNameOf(step.Path)+", or with this one",
				"no check step goes with %s", step.Path)
		}
	})
}

func checkPaths(pkg *Package) []string {
	var paths []string
	pkg.eachStep(func(mode Mode, _ int, step Step) {
		if mode.IsCheck() {
			paths = append(paths, step.Path)
		}
	})
	return paths
}

// checkNameOf is the conventional name of the script that checks another one:
// foo_check.sh for foo.sh, foo_check for foo.
func checkNameOf(name string) string {
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "_check" + extension
}

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
	pkg.eachScript(func(pointer, file string, step Step) {
		info, err := fs.Stat(fsys, file)
		switch {
		case err != nil && spelling(fsys, file) == file:
			report.fail(pointer, "link to a file of the package by a relative path, or copy it",
				"%s is a link that leads to no file of the package", file)
			return
		case err != nil:
			report.fail(pointer, correction(fsys, file), "%s does not exist in the package", file)
			return
		case !info.Mode().IsRegular():
			report.fail(pointer, "name a script", "%s is not a regular file", file)
			return
		}
		if !warned[step.Path] && !slices.Contains(checked, step.Path) && !slices.Contains(checked, checkNameOf(step.Path)) {
			report.warn(pointer, "add a check step with the path "+checkNameOf(step.Path)+", or with this one",
				"no check step goes with %s", step.Path)
		}
		warned[step.Path] = true
	})
}

// warnOfModes warns of scripts that the agent has to make executable.
func warnOfModes(fsys fs.FS, pkg *Package, report *Report) {
	warned := map[string]bool{}
	pkg.eachScript(func(pointer, file string, _ Step) {
		info, err := fs.Stat(fsys, file)
		if err == nil && info.Mode().IsRegular() && !executable(info) && !warned[file] {
			warned[file] = true
			report.warn(pointer, "chmod +x it; the agent does so on the host", "%s is not executable", file)
		}
	})
}

func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// eachScript visits the steps whose path is safe, with the pointer to it and
// the script's place in the package.
func (p *Package) eachScript(visit func(pointer, file string, step Step)) {
	p.eachStep(func(mode Mode, index int, step Step) {
		if step.Path != "" && unsafePath(step.Path) == "" {
			visit(pointerTo("modes", string(mode), strconv.Itoa(index), "path"), path.Join(StepDir, step.Path), step)
		}
	})
}

// correction says what to do about a script that is not there.
func correction(fsys fs.FS, file string) string {
	if actual := spelling(fsys, file); actual != "" {
		return "write it as " + strings.TrimPrefix(actual, StepDir+"/")
	}
	if strings.Contains(file, `\`) {
		return "separate folders by '/'"
	}
	return "add the script, or correct the path"
}

// spelling is how a path is written in the package if upper and lower case do
// not count; empty if there is no such file.
func spelling(fsys fs.FS, file string) string {
	actual := "."
	for element := range strings.SplitSeq(file, "/") {
		entries, err := fs.ReadDir(fsys, actual)
		if err != nil {
			return ""
		}
		at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == element })
		if at < 0 {
			at = slices.IndexFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), element) })
		}
		if at < 0 {
			return ""
		}
		actual = path.Join(actual, entries[at].Name())
	}
	return actual
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

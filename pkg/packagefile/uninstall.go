package packagefile

import (
	"slices"
	"strings"
)

// forgive turns errors into warnings.
func (r *Report) forgive(forgiven func(Problem) bool) {
	for _, p := range r.Errors {
		if forgiven(p) {
			r.Warnings = append(r.Warnings, p)
		}
	}
	r.Errors = slices.DeleteFunc(r.Errors, forgiven)
}

// beyondUninstall reports whether a problem of config.json is about something
// that no uninstall uses: another mode, or what only an installation needs.
func beyondUninstall(p Problem) bool {
	if p.File != ConfigFile {
		return false
	}
	key, rest, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
	if key != "modes" {
		return key == "expected_config_files"
	}
	mode, _, _ := strings.Cut(rest, "/")
	// Without one the problem is about all modes.
	return mode != "" && !Mode(mode).IsUninstall()
}

// dropUnsafe drops steps whose paths must not be used for anything.
func (p *Package) dropUnsafe() {
	for mode, steps := range p.Modes {
		p.Modes[mode] = slices.DeleteFunc(steps, func(s Step) bool { return s.Path == "" || unsafePath(s.Path) != "" })
	}
	unsafe := func(name string) bool { return unsafePath(name) != "" }
	p.ExpectedConfigFiles = slices.DeleteFunc(p.ExpectedConfigFiles, unsafe)
}

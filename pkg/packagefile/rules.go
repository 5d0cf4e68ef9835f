package packagefile

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The names the agent itself uses beside the packages' flag directories.
var reservedNames = []string{"START", "check_results"}

const allChecked = "_ALL_CHECKED"

func checkNames(pkg *Package, report *Report) {
	if reason := unsafeName(pkg.Name); reason != "" {
		report.fail("/package_name", "make it "+meanings["package_name"], "%q %s", pkg.Name, reason)
	}
	for i, name := range pkg.ExpectedConfigFiles {
		if reason := unsafePath(name); reason != "" {
			report.fail(pointerTo("expected_config_files", strconv.Itoa(i)), "name a config map key", "%q %s", name, reason)
		}
	}
}

// unsafeName says why a name cannot become a directory of its own; an empty
// one is the schema's business.
func unsafeName(name string) string {
	switch {
	case name == "." || name == "..":
		return "is not a name"
	case strings.Contains(name, "/"):
		return "contains a slash"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	case len(name) > 200:
		return "is longer than 200 bytes"
	case slices.Contains(reservedNames, name) || strings.HasSuffix(name, allChecked):
		return "is a file name that the agent uses itself"
	}
	return ""
}

// unsafePath says why a path could lead out of the directory it belongs to.
func unsafePath(name string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return "is an absolute path"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "contains '..'"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	case name != "" && path.Clean(name) == ".":
		return "is a directory"
	}
	return ""
}

// checkModes holds the rules on which modes need which others. It counts the
// raw lists, so that a malformed step is not reported as a missing one too.
func checkModes(object map[string]any, pkg *Package, report *Report) {
	raw, ok := object["modes"].(map[string]any)
	if !ok {
		return
	}
	steps, nonCheck := 0, false
	for name, value := range raw {
		list, _ := value.([]any)
		steps += len(list)
		nonCheck = nonCheck || !Mode(name).IsCheck()
	}
	if steps == 0 {
		report.fail("/modes", "add a step to at least one mode", "no mode has any step")
	}
	if !nonCheck {
		report.fail("/modes", `add the mode that is checked, if only as an empty list such as "apply": []`,
			"there are only check modes")
	}
	for _, mode := range modes {
		check, _ := raw[string(mode.Check())].([]any)
		if !mode.IsCheck() && len(pkg.Modes[mode]) > 0 && len(check) == 0 {
			report.fail(pointerTo("modes", string(mode)), "add a step to "+string(mode.Check()),
				"has steps but nothing checks them")
		}
	}
	if _, ok := raw[string(modeInterrupt)]; ok {
		report.warn(pointerTo("modes", string(modeInterrupt)), "remove it: interrupts are declared in the Skyhook",
			"is never run")
	}
}

func checkSteps(pkg *Package, report *Report) {
	pkg.eachStep(func(mode Mode, index int, step Step) {
		at := func(field string) string { return pointerTo("modes", string(mode), strconv.Itoa(index), field) }
		if reason := unsafePath(step.Path); reason != "" {
			report.fail(at("path"), "make it "+meanings["path"], "%q %s", step.Path, reason)
		}
		if !step.OnHost {
			report.fail(at("on_host"), "make it true; what must not touch the host does not need a package",
				"is false, but steps only ever run on the host")
		}
		if step.UpgradeStep && !mode.IsUpgrade() {
			report.fail(at("upgrade_step"), "make it false, or move the step to upgrade or upgrade-check",
				"is true outside the upgrade modes")
		}
		if step.UpgradeStep && len(step.Arguments) > 0 {
			report.fail(at("arguments"),
				"make it []: an upgrade step gets the previous and the current version as its arguments",
				"has arguments of its own although upgrade_step is true")
		}
		for _, name := range slices.Sorted(maps.Keys(step.Env)) {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				report.fail(pointerTo("modes", string(mode), strconv.Itoa(index), "env", name), "use a name without '='",
					"is not a name of a variable")
			}
		}
	})
}

// eachStep visits all steps in a fixed order.
func (p *Package) eachStep(visit func(mode Mode, index int, step Step)) {
	for _, mode := range modes {
		for i, step := range p.Modes[mode] {
			visit(mode, i, step)
		}
	}
}

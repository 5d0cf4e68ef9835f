package image

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/skyhook-operator/skyhook/pkg/image/label"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// configFile and labelPointer say where a label is: in the configuration of
// the image, a JSON document as OCI defines it.
const (
	configFile   = "image configuration"
	labelPointer = "/config/Labels/" + label.Uninstall
	latest       = "latest"
)

// wrongTags holds that users get the version they ask for: hosts go by the
// package_version, the operator by the tag.
func wrongTags(pkg *packagefile.Package, tags []string) []packagefile.Problem {
	var problems []packagefile.Problem
	for _, tag := range tags {
		if tag == pkg.Version || pkg.Version == "" {
			continue
		}
		fix := "build the image again with " + tag + " in its config.json, or tag it " + pkg.Version
		if tag == latest {
			fix = "tag it " + pkg.Version + " and use it by that name: the tag is the version of a package"
		}
		problems = append(problems, packagefile.Problem{
			File: packagefile.ConfigFile, Pointer: "/package_version",
			Message: fmt.Sprintf("is %q, but the tag of the image is %q", pkg.Version, tag), Fix: fix,
		})
	}
	return problems
}

func checkLabel(pkg *packagefile.Package, labels map[string]string, report *packagefile.Report) {
	want := strconv.FormatBool(len(pkg.Modes[packagefile.Uninstall]) > 0)
	got, given := labels[label.Uninstall]
	_, told := label.CanUninstall(labels)
	fix := "set it to " + want + " (LABEL " + label.Uninstall + "=" + want + ")"
	problem := packagefile.Problem{File: configFile, Pointer: labelPointer, Fix: fix}
	switch {
	case !given:
		problem.Message = "is missing: users have to say themselves whether the package can be uninstalled"
		report.Warnings = append(report.Warnings, problem)
	case !told:
		problem.Message = fmt.Sprintf("is %q, which is neither true nor false", got)
		report.Errors = append(report.Errors, problem)
	case got != want:
		problem.Message = "is " + got + ", but the package has no uninstall steps"
		if want == "true" {
			problem.Message = "is " + got + ", but the package has uninstall steps"
		}
		report.Errors = append(report.Errors, problem)
	}
}

// missingPlatforms warns of what part of a cluster could not pull.
func missingPlatforms(parts []part) []packagefile.Problem {
	var problems []packagefile.Problem
	for _, arch := range []string{"amd64", "arm64"} {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.platform.Architecture == arch }) {
			problems = append(problems, packagefile.Problem{
				File: configFile, Message: "there is no image for linux/" + arch,
				Fix: "build it for linux/amd64 and linux/arm64, or keep such nodes out of the Skyhook",
			})
		}
	}
	return problems
}

// program is what the operator needs to copy the package to a host.
type program struct {
	name string
	// places it may be in; any of them will do.
	places []string
}

var programs = []program{
	// The operator starts it by this path.
	{"sh", []string{"bin/sh"}},
	{"mkdir", []string{"bin/mkdir", "usr/bin/mkdir"}},
	{"cp", []string{"bin/cp", "usr/bin/cp"}},
}

func (c *content) missingPrograms() []packagefile.Problem {
	var problems []packagefile.Problem
	for _, p := range programs {
		if slices.ContainsFunc(p.places, c.has) {
			continue
		}
		problems = append(problems, packagefile.Problem{
			File: "/" + p.places[0], Message: "does not exist in the image",
			Fix: "begin from an image that has /bin/sh, mkdir and cp, such as busybox: the package is copied with them",
		})
	}
	return problems
}

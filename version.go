// Package skyhook knows which version this build is of, for every program alike.
package skyhook

import (
	"cmp"
	_ "embed"
	"runtime/debug"
	"strings"
)

// file is what a plain go build knows.
//
//go:embed VERSION
var file string

// linked is set by the linker for a build of another version.
var linked string

// Version is that of the project, such as v1.2.3: what nodes, metrics and the default image of the agent go by.
func Version() string { return cmp.Or(linked, strings.TrimSpace(file)) }

// Revision is the commit that the program was built from in a checkout, with "-dirty" for a changed one; a release has
// only its version.
func Revision() string { return revision(debug.ReadBuildInfo()) }

// Build is the version for people, with the revision if there is one.
func Build() string { return With(Version(), Revision()) }

// With adds a revision to a version.
func With(version, revision string) string {
	if revision == "" {
		return version
	}
	return version + " (" + revision + ")"
}

func revision(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	noted := map[string]string{}
	for _, s := range info.Settings {
		noted[s.Key] = s.Value
	}
	const short = 12
	sha := noted["vcs.revision"]
	sha = sha[:min(len(sha), short)]
	if sha != "" && noted["vcs.modified"] == "true" {
		sha += "-dirty"
	}
	return sha
}

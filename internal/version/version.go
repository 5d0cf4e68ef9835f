// Package version compares the versions of packages. They are texts that somebody wrote: 1.2, 1.2.0 and v1.2.0 are the
// same version, and a text that is no version is equal to itself alone, neither older nor newer than any other.
package version

import "github.com/Masterminds/semver/v3"

// Same reports whether two texts mean one version.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	va, vb, ok := parse(a, b)
	return ok && va.Equal(vb)
}

// Older reports whether version a is older than b.
func Older(a, b string) bool {
	if a == b {
		return false // most are, and parsing costs more than all the rest
	}
	va, vb, ok := parse(a, b)
	return ok && va.LessThan(vb)
}

func parse(a, b string) (va, vb *semver.Version, ok bool) {
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	return va, vb, errA == nil && errB == nil
}

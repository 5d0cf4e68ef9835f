package image

import (
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// findings collects problems by platform, so that one that all platforms have
// is reported once.
type findings struct{ errors, warnings merged }

type merged struct {
	order     []packagefile.Problem
	platforms map[packagefile.Problem][]string
}

func (f *findings) add(platform string, report packagefile.Report) {
	f.errors.add(platform, report.Errors)
	f.warnings.add(platform, report.Warnings)
}

func (f *findings) report() packagefile.Report {
	return packagefile.Report{Errors: f.errors.list(), Warnings: f.warnings.list()}
}

func (m *merged) add(platform string, problems []packagefile.Problem) {
	if m.platforms == nil {
		m.platforms = map[packagefile.Problem][]string{}
	}
	for _, p := range problems {
		if m.platforms[p] == nil {
			m.order = append(m.order, p)
		}
		// Two names that differ only where they are cut are one problem.
		if !slices.Contains(m.platforms[p], platform) {
			m.platforms[p] = append(m.platforms[p], platform)
		}
	}
}

func (m *merged) list() []packagefile.Problem {
	var result []packagefile.Problem
	for _, p := range m.order {
		platforms := m.platforms[p]
		p.Platform = strings.Join(platforms, ",")
		result = append(result, p)
	}
	return result
}

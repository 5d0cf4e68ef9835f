package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// readReports reads every report of a folder, the oldest first. A full run is made in parts, each with a file.
func readReports(folder string) ([]Report, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("look for reports: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no report; make one with -json %s/NAME.json", folder, folder)
	}
	var all []Report
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a report: %w", err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var r Report
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("read the report %s: %w", file, err)
		}
		for _, result := range r.Results {
			if _, known := worlds[result.World]; !known || !slices.Contains(phases, result.Phase) {
				return nil, fmt.Errorf("read the report %s: %s is no world and phase of today", file, result.name())
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b Report) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// merge takes each world, phase and size from the last report that has it, in the order of the page.
func merge(reports []Report) []Result {
	last := map[string]Result{}
	for _, report := range reports {
		for name, r := range means(report.Results) {
			r.limit = report.OperatorMiB
			last[name] = r
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b Result) int {
		return cmp.Or(
			cmp.Compare(slices.Index(worldOrder, a.World), slices.Index(worldOrder, b.World)),
			cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Packages, b.Packages),
			cmp.Compare(slices.Index(phases, a.Phase), slices.Index(phases, b.Phase)),
		)
	})
}

// worldOrder is the order of worlds on the page, from the simplest on.
var worldOrder = []string{"plain", "interrupt", "reboot", "failing", "policy", "five", "twenty"}

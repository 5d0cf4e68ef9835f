package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	timePicture, memoryPicture = "time.svg", "memory.svg"
	// pictured is the number of packages that pictures show.
	pictured = 2
	// telling is how many nodes the largest fleet must have before the figures say how large fleets behave.
	telling = 1000
)

// writePage reads the reports of one folder, and writes the page and the pictures of all of them into another.
func writePage(from, to string) error {
	reports, err := readReports(from)
	if err != nil {
		return err
	}
	limits, err := readRanges(rangesFile)
	if err != nil {
		return err
	}
	results := merge(reports)
	times, memories := timesOf(results), memoriesOf(results)
	drawnTimes, errTimes := times.draw()
	drawnMemories, errMemories := memories.draw()
	if err := errors.Join(errTimes, errMemories, os.MkdirAll(to, 0o755)); err != nil {
		return fmt.Errorf("write the page of the reports: %w", err)
	}
	for name, text := range map[string][]byte{
		timePicture: drawnTimes, memoryPicture: drawnMemories,
		"README.md": []byte(page(reports, results, limits, times, memories)),
	} {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return fmt.Errorf("write the page of the reports: %w", err)
		}
	}
	return nil
}

func page(reports []Report, results []Result, limits Ranges, times, memories picture) string {
	var b strings.Builder
	b.WriteString(`# Measured

<!-- Written by tools/generate from the reports in this folder. -->

[numbers.md](../numbers.md) says how this is measured, what worlds, phases and figures mean, and how to measure it
again. A full run is made in parts, each with a report in this folder; of what was measured twice, the later report
counts, and of a size that one report has twice, the mean, or the larger of two peaks. The machine, and how long the
emulated nodes take:

`)
	for _, m := range machines(reports) {
		fmt.Fprintf(&b, "- %s\n", m)
	}
	largest := 0
	for _, r := range results {
		largest = max(largest, r.Nodes)
	}
	if largest < telling {
		fmt.Fprintf(&b, "\n> These fleets have %d nodes at most. Fixed costs dominate at that size, so this page "+
			"does not say yet how a\n> large fleet behaves.\n", largest)
	}
	fmt.Fprintf(&b, "\n![%s](%s)\n\n![%s](%s)\n", times.described(), timePicture, memories.described(), memoryPicture)
	writeRatios(&b, results, limits)
	writeMemory(&b, results)
	writeRollouts(&b, results)
	writeStarts(&b, results)
	writeServer(&b, results)
	return b.String()
}

// machines that the reports are of, each once, with the days on which the reports were written. Reports do not say which
// results of theirs still count, and need not: a folder with results of two machines has to be seen as one.
func machines(reports []Report) []string {
	days := map[string][]string{}
	for _, r := range reports {
		text := fmt.Sprintf("%d processors, %d GiB of memory; %s per container, %s per reboot",
			r.Processors, r.MemoryGiB, r.Pace.Container, r.Pace.Reboot)
		if r.OperatorMiB > 0 {
			text += fmt.Sprintf("; the operator told of a memory limit of %d MiB", r.OperatorMiB)
		}
		days[text] = append(days[text], r.Time.UTC().Format(time.DateOnly))
	}
	var all []string
	for _, text := range slices.Sorted(maps.Keys(days)) {
		slices.Sort(days[text])
		all = append(all, text+"; measured on "+strings.Join(slices.Compact(days[text]), ", "))
	}
	return all
}

// picturedPhases are those whose times say how long a rollout takes.
var picturedPhases = []Phase{phaseInstall, phaseConfig, phaseUpgrade, phaseUninstall}

// timesOf draws every phase of the plain world, and the install of the others.
func timesOf(results []Result) picture {
	p := picture{title: "Time of a rollout against nodes, with two packages", unit: "time in seconds"}
	for _, world := range worldOrder {
		for i, phase := range picturedPhases {
			if world != worldOrder[0] && phase != phaseInstall {
				continue
			}
			p.add(line{name: world + " " + string(phase), world: world, dashes: i}, results,
				func(r Result) bool { return r.World == world && r.Phase == phase }, "seconds")
		}
	}
	return p
}

// memoriesOf draws the peak of each world's phases, and what the operator has when it is idle.
func memoriesOf(results []Result) picture {
	p := picture{title: "Memory of the operator against nodes, with two packages", unit: "memory in MiB"}
	for _, world := range worldOrder {
		of := func(r Result) bool { return r.World == world }
		p.add(line{name: world + " peak", world: world}, results, of, "rssPeak")
		p.add(line{name: world + " idle", world: world, dashes: 2}, results, of, "rssIdle")
	}
	return p
}

// add adds a line of the largest values of a figure by nodes, if there are any.
func (p *picture) add(l line, results []Result, of func(Result) bool, figure string) {
	for _, r := range results {
		y, measured := r.Figures[figure]
		if !measured || r.Packages != pictured || !of(r) {
			continue
		}
		x, last := float64(r.Nodes), len(l.points)-1
		if last >= 0 && l.points[last].x == x {
			l.points[last].y = max(l.points[last].y, y)
			continue
		}
		l.points = append(l.points, point{x, y})
	}
	if len(l.points) > 0 {
		p.lines = append(p.lines, l)
	}
}

// short is a number with three digits that count, and a comma between thousands.
func short(v float64) string {
	if v < 999.5 { // what rounds to less than 1,000
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// benchmarks is the report of results in the text format of Go's benchmarks, which benchstat compares.
func benchmarks(pace Pace, operator Program, results []Result) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/skyhook-operator/skyhook/test/scale\n", runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "processors: %d\nmemory-limit: %d MiB\ncontainer: %s\n", runtime.NumCPU(), operator.Memory, pace.Container)
	for _, r := range results {
		fmt.Fprintf(&b, "BenchmarkRollout/world=%s/phase=%s/nodes=%d/packages=%d 1", r.World, r.Phase, r.Nodes, r.Packages)
		for _, f := range figures {
			if v, measured := r.Figures[f.Name]; measured {
				fmt.Fprintf(&b, " %g %s", v, f.Name)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// writeReport writes a report of either mode.
func writeReport(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	part := file + ".part" // half of a report must not replace an earlier one
	err := os.WriteFile(part, text, 0o644)
	if err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", errors.Join(err, os.RemoveAll(part)))
	}
	return nil
}

// checkReport makes sure that a report can be written to a file.
func checkReport(file string) error {
	if have, err := os.Stat(file); err == nil && have.IsDir() {
		return fmt.Errorf("the report cannot be written: %s is a folder", file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	part, err := os.Create(file + ".part")
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	return errors.Join(part.Close(), os.Remove(part.Name()))
}

// printTable writes one table for the phases of a world.
func printTable(to io.Writer, results []Result) {
	if len(results) == 0 {
		return
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(Result) string) {
		cells := make([]string, len(results))
		for i, r := range results {
			cells[i] = cell(r)
		}
		fmt.Fprintf(w, "%s\t%s\t\n", name, strings.Join(cells, "\t"))
	}
	fmt.Fprintf(to, "\n%s, %d nodes, %d packages\n", results[0].World, results[0].Nodes, results[0].Packages)
	row("", func(r Result) string { return string(r.Phase) })
	for _, f := range figures {
		row(strings.TrimSpace(f.Name+" "+f.Unit), func(r Result) string { return cell(r.Figures, f.Name) })
	}
	printCounts(row, "operator", results, func(r Result) counts { return r.Writes })
	printCounts(row, "kubelets", results, func(r Result) counts { return r.KubeletWrites })
	printCounts(row, "answers", results, func(r Result) counts { return r.Answers })
	w.Flush()
}

func printCounts(row func(string, func(Result) string), who string, results []Result, of func(Result) counts) {
	keys := map[string]bool{}
	for _, r := range results {
		for key := range of(r) {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		row(who+" "+key, func(r Result) string { return cell(of(r), key) })
	}
}

// cell is a number with at most three digits after its point; a dash for none.
func cell[M ~map[string]float64](values M, name string) string {
	v, ok := values[name]
	if !ok {
		return "-"
	}
	digits := 1
	switch {
	case v >= 1000, v == 0:
		digits = 0
	case v < 1:
		digits = 3
	case v < 10:
		digits = 2
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

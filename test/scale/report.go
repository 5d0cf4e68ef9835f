package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what is written as JSON.
type Report struct {
	Time time.Time `json:"time"`
	Machine
	Pace    Pace     `json:"pace"`
	Results []Result `json:"results"`
}

// Machine is what times depend on, as far as it can be told in two numbers.
type Machine struct {
	Processors int `json:"processors"`
	// MemoryGiB is rounded: no two kernels leave the same of it.
	MemoryGiB int `json:"memoryGiB"`
	// OperatorMiB is the memory limit of the operator's container; 0 for none.
	OperatorMiB uint64 `json:"operatorMiB,omitempty"`
}

func newReport(pace Pace, operator Program, results []Result) (Report, error) {
	bytes, err := machineMemory()
	gib := int(math.Round(float64(bytes) / (1 << 30)))
	return Report{
		Time: time.Now().UTC().Truncate(time.Second), Pace: pace, Results: results,
		Machine: Machine{Processors: runtime.NumCPU(), MemoryGiB: gib, OperatorMiB: operator.Memory},
	}, err
}

// writeReport writes a report of either mode as JSON.
func writeReport(file string, report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	part := file + ".part" // half of a report must not replace an earlier one
	err = os.WriteFile(part, append(text, '\n'), 0o644)
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

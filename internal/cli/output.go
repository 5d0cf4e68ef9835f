package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// printer is where a command prints, and in which form.
type printer struct {
	out    io.Writer
	output string
}

// result is what a command found, in every form in which it can be printed.
type result struct {
	// value is what json and yaml print; never nil.
	value any
	// names are what name prints, such as node/worker-1.
	names []string
	// header are the lines above the table, with an empty line behind them.
	header []string
	// columns and rows are the table; the wide one may have others.
	columns []string
	rows    [][]string
	// empty is the sentence for a table without rows.
	empty string
}

// print writes a result as --output asks.
func (p printer) print(r result) error {
	switch p.output {
	case outputJSON:
		e := json.NewEncoder(p.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r.value)
	case outputYAML:
		text, err := yaml.Marshal(r.value)
		if err != nil {
			return fmt.Errorf("print as YAML: %w", err)
		}
		_, err = p.out.Write(text)
		return err
	case outputName:
		for _, name := range r.names {
			fmt.Fprintln(p.out, name)
		}
		return nil
	}
	for _, line := range r.header {
		fmt.Fprintln(p.out, line)
	}
	if len(r.header) > 0 {
		fmt.Fprintln(p.out)
	}
	if len(r.rows) == 0 {
		fmt.Fprintln(p.out, r.empty)
		return nil
	}
	return printTable(p.out, r.columns, r.rows)
}

// nothing is the answer where there is nothing to do.
func (p printer) nothing(sentence string) error {
	fmt.Fprintln(p.out, sentence)
	return nil
}

func printTable(out io.Writer, columns []string, rows [][]string) error {
	const padding = 2
	w := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	dashes := make([]string, len(columns))
	for i, c := range columns {
		dashes[i] = strings.Repeat("-", len(c))
	}
	fmt.Fprintln(w, strings.Join(dashes, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(printable(row), "\t"))
	}
	return w.Flush()
}

// printable are the cells of a row without what a terminal or the table would take for a command: nodes remember what
// scripts print.
func printable(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = packagefile.Printable(cell)
	}
	return out
}

// spreadsheet are the cells of a row without what a spreadsheet would take for a formula.
func spreadsheet(row []string) []string {
	out := slices.Clone(row)
	for i, cell := range out {
		if cell != "-" && strings.IndexAny(cell, "=+-@\t\r") == 0 {
			out[i] = "'" + cell
		}
	}
	return out
}

// markdown are the cells of a row as a table in Markdown wants them.
func markdown(row []string) []string {
	out := printable(row)
	for i, cell := range out {
		out[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return out
}

func (p printer) wide() bool { return p.output == outputWide }

// tables reports whether people read what is printed.
func (p printer) tables() bool { return p.output == outputTable || p.wide() }

// Command reasons prints docs/reasons.md, the table of all reasons, as the comments of api/v1alpha1/reasons.go have it;
// with -json what kubectl skyhook tells of them. tools/generate runs it in the repository's root.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// source is where all reasons are, from the repository's root.
const source = "api/v1alpha1/reasons.go"

func main() {
	asJSON := flag.Bool("json", false, "print what internal/cli embeds")
	flag.Parse()
	if err := run(*asJSON); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(asJSON bool) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("read the reasons: %w", err)
	}
	tables, err := parse(source, text)
	if err != nil {
		return err
	}
	if asJSON {
		return list(tables)
	}
	_, err = os.Stdout.WriteString(page(tables))
	return err
}

// list prints the reasons by their names.
func list(tables []table) error {
	type reason struct {
		Meaning string   `json:"meaning"`
		EndedBy []string `json:"endedBy"`
		Do      string   `json:"do"`
	}
	all := map[string]reason{}
	for _, t := range tables {
		for _, r := range t.rows {
			all[r.reason] = reason{r.meaning, r.endedBy, r.do}
		}
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(all)
}

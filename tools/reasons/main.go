// Command reasons prints docs/reasons.md, the table of all reasons, as the comments of api/v1alpha1/reasons.go have it.
// tools/generate runs it in the repository's root.
package main

import (
	"fmt"
	"os"
)

// source is where all reasons are, from the repository's root.
const source = "api/v1alpha1/reasons.go"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("read the reasons: %w", err)
	}
	tables, err := parse(source, text)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(page(tables))
	return err
}

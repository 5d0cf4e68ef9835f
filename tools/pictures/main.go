// Command pictures draws the pictures of the documentation: of each source NAME.yaml in a folder the file NAME.svg.
//
//	go run ./tools/pictures FROM TO
//
// A source has boxes at the columns and rows of a grid, and arrows between them; or lanes, which are bars one below the
// other against one axis. Nothing is laid out by chance, so the same source gives the same bytes. Texts are measured: one
// that does not fit into its box is an error. tools/generate runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pictures FROM TO")
		os.Exit(2)
	}
	if err := all(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func all(from, to string) error {
	sources, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("no sources in %s: %w", from, err)
	}
	var problems []error
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".yaml")
		drawn, err := one(source)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name+".svg"), drawn, 0o644) //nolint:gosec // which folder it is, is what this is told
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func one(source string) ([]byte, error) {
	raw, err := os.ReadFile(source) //nolint:gosec // which folder it is, is what this is told
	if err != nil {
		return nil, err
	}
	var p picture
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		return nil, err
	}
	return p.draw()
}

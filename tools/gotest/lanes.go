package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// onCluster is where the suites are that bring up a cluster each.
const onCluster = "/test/e2e"

// command is one run of "go test".
type command struct {
	name string
	args []string
}

// lanes are what runs side by side: one lane for now. On two processors the end-to-end suites leave nothing to others, and
// a cluster that starves fails tests for want of time.
func lanes(packages []listed) [][]command {
	var cluster, cached, fresh []string
	uncached := runPrograms(packages)
	for _, p := range packages {
		switch {
		case !p.tested():
		case strings.Contains(p.ImportPath+"/", onCluster+"/"):
			cluster = append(cluster, p.ImportPath)
		case uncached(p):
			fresh = append(fresh, p.ImportPath)
		default:
			cached = append(cached, p.ImportPath)
		}
	}
	test := []string{"go", "test", "-json", "-timeout", "60m", "-tags"}
	return [][]command{{
		{"tests, cached", append(slices.Concat(test, []string{"integration"}), cached...)},
		{"tests that run programs", append(slices.Concat(test, []string{"integration", "-count=1"}), fresh...)},
		{"end to end", append(slices.Concat(test, []string{"integration,e2e", "-count=1"}), cluster...)},
	}}
}

// listed is what is needed of a package's listing.
type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

func (p listed) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// runPrograms tells the packages whose tests run other programs, themselves or by what only tests import: the go
// command sees which files a test reads, but not those that a program reads which the test runs.
func runPrograms(packages []listed) func(listed) bool {
	byPath := map[string]listed{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	return func(p listed) bool {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if imported == "os/exec" {
				return true
			}
			if helper, ours := byPath[imported]; ours && slices.Contains(helper.Imports, "os/exec") {
				return true
			}
		}
		return false
	}
}

// list asks the go command for all packages of the module.
func list(ctx context.Context) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-tags", "integration,e2e",
		"-json=ImportPath,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		all = append(all, p)
	}
}

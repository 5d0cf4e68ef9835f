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
	// alone is how people run one test of it.
	alone string
}

const oneAlone = "make integration DIR=folder RUN='TestX$'"

// named are packages whose tests run programs, but open whatever these read of the repository: scripts and packages that
// they copy onto a pretended host, and the rest with test/inputs and test/helm. What a machine has is not the cache's
// affair: make nightly runs all tests without one.
var named = []string{
	"build/manifest",
	"internal/agent",
	"internal/agent/process",
	"internal/cli",
	"internal/controller/capability",
	"internal/kit",
	"internal/kit/tryout",
	"internal/operator",
	"internal/webhook",
	"internal/workload",
	"packages/shellscript",
	"packages/tuned",
	"packages/tuning",
	"pkg/image",
	"test/alerts",
	"test/board",
	"test/chart",
	"test/install",
	"test/kustomize",
	"test/packages",
	"test/scale",
	"test/testbed",
}

// commands are what runs, one after the other: on two processors the end-to-end suites leave nothing to others, and a
// cluster that starves fails tests for want of time.
func commands(packages []listed, place string) []command {
	var cluster, cached, fresh []string
	uncached := unnamed(packages)
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
	return []command{
		{"tests", inPlace(place, append(slices.Concat(test, []string{"integration"}), cached...)), oneAlone},
		{"tests that run programs", append(slices.Concat(test, []string{"integration", "-count=1"}), fresh...), oneAlone},
		{"end to end", append(slices.Concat(test, []string{"integration,e2e", "-count=1"}), cluster...), "make e2e RUN='TestX$'"},
	}
}

// listed is what is needed of a package's listing.
type listed struct {
	ImportPath                         string
	Module                             module
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

type module struct{ Path string }

// folder is where it is in the repository.
func (p listed) folder() string { return strings.TrimPrefix(p.ImportPath, p.Module.Path+"/") }

func (p listed) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// unnamed tells the packages whose results may depend on files that the go command does not know: it sees which files a
// test reads, but not those that a program reads which the test runs.
func unnamed(packages []listed) func(listed) bool {
	programs := runPrograms(packages)
	return func(p listed) bool { return programs(p) && !slices.Contains(named, p.folder()) }
}

// runPrograms tells the packages whose tests run other programs, themselves or by what only tests import.
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
func list(ctx context.Context, root string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-tags", "integration,e2e",
		"-json=ImportPath,Module,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
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

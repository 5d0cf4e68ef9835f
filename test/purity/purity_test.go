package purity

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/skyhook-operator/skyhook"

var pure = []string{
	module + "/internal/admission",
	module + "/internal/capability",
	module + "/internal/drain",
	module + "/internal/lifecycle",
	module + "/internal/text",
	module + "/internal/record",
	module + "/internal/rollout",
	module + "/internal/taint",
	module + "/internal/version",
	module + "/internal/workload",
}

// goPackage is what "go list -json" tells of a package, as far as it matters here.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
}

// TestCoreIsPure checks the pure packages and every package of this module below them.
func TestCoreIsPure(t *testing.T) {
	packages := projectDependencies(t, pure...)
	for _, path := range pure {
		if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.ImportPath == path && len(p.GoFiles) > 0 }) {
			t.Errorf("%s has no Go files, so nothing was proved about it", path)
		}
	}
	for _, p := range packages {
		t.Run(strings.TrimPrefix(p.ImportPath, module+"/"), func(t *testing.T) {
			for _, name := range p.GoFiles {
				found, err := checkFile(filepath.Join(p.Dir, name))
				if err != nil {
					t.Fatal(err)
				}
				for _, sentence := range found {
					t.Errorf("%s/%s", p.ImportPath, sentence)
				}
			}
		})
	}
}

// TestImpureIsFound makes sure that the check above can fail.
func TestImpureIsFound(t *testing.T) {
	tests := []struct {
		file string
		want []string
	}{
		{"pure.go.txt", nil},
		{"client.go.txt", []string{"client.go.txt:4: imports k8s.io/client-go/kubernetes: k8s.io/client-go is a client"}},
		{"logger.go.txt", []string{
			"logger.go.txt:4: imports github.com/go-logr/logr: github.com/go-logr is a logger",
			"logger.go.txt:5: imports log/slog: log is a logger",
		}},
		{"clock.go.txt", []string{
			"clock.go.txt:10: uses time.Now: time must come in as a value",
			"clock.go.txt:11: uses clock.Since: time must come in as a value",
			"clock.go.txt:12: uses metav1.Now: time must come in as a value",
			"clock.go.txt:13: uses time.Sleep: time must come in as a value",
		}},
		{"hidden.go.txt", []string{"hidden.go.txt:3: imports time without its name, which would hide the use of its clock"}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got, err := checkFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

// TestDependenciesAreFollowed makes sure that a package below the core is seen, not only the core itself.
func TestDependenciesAreFollowed(t *testing.T) {
	packages := projectDependencies(t, module+"/internal/workload")
	if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.ImportPath == module+"/api/v1alpha1" }) {
		t.Errorf("api/v1alpha1 is not among the dependencies of internal/workload: %v", packages)
	}
	for _, p := range packages {
		if !strings.HasPrefix(p.ImportPath, module) {
			t.Errorf("%s is not this module's", p.ImportPath)
		}
	}
}

// projectDependencies lists packages and everything of this module that they are built from.
func projectDependencies(t *testing.T, paths ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles"}, paths...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("decode the output of go list: %v", err)
		case p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/"):
			packages = append(packages, p)
		}
	}
}

package purity

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const module = "github.com/skyhook-operator/skyhook/"

// TestCoreIsBuiltFromPurePackages: the linter holds the folders of its rule "pure" to that rule, file by file. What
// these packages are built from, as far as it is of this module, has to be among them.
func TestCoreIsBuiltFromPurePackages(t *testing.T) {
	text, err := os.ReadFile("../../.golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	var folders, args []string
	folder := regexp.MustCompile(`^\*\*/([a-z0-9/]+)/\*+(\.go)?$`)
	for _, pattern := range config.Linters.Settings.Depguard.Rules["pure"].Files {
		if match := folder.FindStringSubmatch(pattern); match != nil {
			folders, args = append(folders, match[1]), append(args, module+match[1])
		}
	}
	if !slices.Contains(folders, "internal/lifecycle") || !slices.Contains(folders, "internal/rollout") {
		t.Fatalf("the rule is for %q, which is not the core", folders)
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if own, isOurs := strings.CutPrefix(path, module); isOurs && !slices.Contains(folders, own) {
			t.Errorf("the core is built from %s: add it to the rule \"pure\" of depguard, and to that of its clock, in .golangci.yaml", own)
		}
	}
}

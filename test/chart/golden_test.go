//go:build integration

package chart

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/test/helm"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	goldenDir    = "testdata/golden"
	valuesSuffix = ".values.yaml"
	airGapped    = root + "/examples/air-gapped/values.yaml"
)

// values are those of a file; a leaf is anything but a map with something in it.
type values map[string]any

func readValues(t *testing.T, path string) values {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := values{}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// leaves returns the paths to all leaves, such as [webhook enable].
func leaves(v map[string]any, at ...string) [][]string {
	var all [][]string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		path := append(slices.Clone(at), key)
		if inner, isMap := v[key].(map[string]any); isMap && len(inner) > 0 {
			all = append(all, leaves(inner, path...)...)
			continue
		}
		all = append(all, path)
	}
	return all
}

// at returns what is at a path; false if nothing is.
func (v values) at(path []string) (any, bool) {
	var now any = map[string]any(v)
	for _, key := range path {
		inner, isMap := now.(map[string]any)
		if !isMap {
			return nil, false
		}
		var there bool
		if now, there = inner[key]; !there {
			return nil, false
		}
	}
	return now, true
}

// without returns the values with nothing at a path, so that the chart's own value counts there.
func (v values) without(t *testing.T, path []string) values {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	rest := values{}
	if err := yaml.Unmarshal(text, &rest); err != nil {
		t.Fatal(err)
	}
	parent, _ := rest.at(path[:len(path)-1])
	delete(parent.(map[string]any), path[len(path)-1])
	return rest
}

// sets are the sets of values that golden files exist for, by name: an example, and what examples do not need.
func sets(t *testing.T) map[string]values {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(goldenDir, "*"+valuesSuffix))
	if err != nil || len(files) < 10 {
		t.Fatalf("there are the sets of values %v, %v", files, err)
	}
	all := map[string]values{"default": {}, "air-gapped": readValues(t, airGapped)}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), valuesSuffix)] = readValues(t, file)
	}
	return all
}

// file writes the values for Helm.
func (v values) file(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func templateWith(t *testing.T, v values) (string, error) {
	t.Helper()
	out, err := template(t, "--values", v.file(t))
	return string(out), err
}

// outline leaves out what other tests compare with its source: specifications of CRDs, the dashboard, the version.
func outline(text string) string {
	documents := strings.Split(strings.ReplaceAll(text, skyhook.Version(), "VERSION"), "\n---\n")
	for i, d := range documents {
		if strings.Contains(d, "kind: CustomResourceDefinition") {
			documents[i], _, _ = strings.Cut(d, "\nspec:")
		}
		if before, _, found := strings.Cut(d, "  skyhook-dashboard.json: "); found {
			documents[i] = before
		}
	}
	return strings.TrimRight(strings.Join(documents, "\n---\n"), "\n") + "\n"
}

// lineNumbers are where a hunk was and is. Without them, a change elsewhere in the chart leaves a difference as it is.
var lineNumbers = regexp.MustCompile(`(?m)^@@ .* @@`)

// difference between two texts, as diff -u shows it; each hunk is headed by the kind of its object.
func difference(t *testing.T, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"from": from, "to": to} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	diff := exec.CommandContext(t.Context(), "diff", "--minimal", "--unified=1", "--show-function-line=^kind:", "from", "to")
	diff.Dir = dir
	out, err := diff.Output()
	if err == nil {
		return ""
	}
	if diff.ProcessState.ExitCode() != 1 { // 1: they differ
		t.Fatalf("diff: %v\n%s", err, out)
	}
	parts := strings.SplitN(string(out), "\n", 3) // the first two lines are names of files
	return lineNumbers.ReplaceAllString(parts[2], "@@")
}

// golden compares with a golden file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(goldenDir, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(t, string(want), got); d != "" {
		t.Errorf("the chart renders something else than %s says. If it should:\n"+
			"  go test -tags integration ./test/chart -run Golden -update && git diff test/chart\n%s", file, d)
	}
}

// TestGolden: the default values render what the golden file says, and every other set of values differs from that by
// what its golden file says.
func TestGolden(t *testing.T) {
	rendered := func(t *testing.T, v values) string {
		t.Helper()
		out, err := templateWith(t, v)
		if err != nil {
			t.Fatal(err)
		}
		return outline(out)
	}
	all := sets(t)
	normal := rendered(t, all["default"])
	golden(t, "default.golden.yaml", normal)
	delete(all, "default")
	for name, v := range all {
		t.Run(name, func(t *testing.T) { golden(t, name+".golden.diff", difference(t, normal, rendered(t, v))) })
	}
}

// TestEveryValueIsEffective: of each value in values.yaml there is a golden file that would be another with the
// default. What no set of values sets to something else, or what changes nothing where it is set, fails.
func TestEveryValueIsEffective(t *testing.T) {
	defaults, all := readValues(t, filepath.Join(chartDir, "values.yaml")), sets(t)
	rendered := map[string]string{}
	for name, v := range all {
		out, err := templateWith(t, v)
		if err != nil {
			t.Fatal(err)
		}
		rendered[name] = outline(out)
	}
	effective := 0
	for _, path := range leaves(defaults) {
		normal, _ := defaults.at(path)
		proves := func(name string) bool {
			set, isSet := all[name].at(path)
			if !isSet || reflect.DeepEqual(set, normal) {
				return false
			}
			out, err := templateWith(t, all[name].without(t, path))
			if err != nil { // some are needed by others, which is said by their names
				return strings.Contains(err.Error(), strings.Join(path, ".")+" must")
			}
			return outline(out) != rendered[name]
		}
		if !slices.ContainsFunc(slices.Sorted(maps.Keys(all)), proves) {
			t.Errorf("%s changes nothing in any golden file", strings.Join(path, "."))
			continue
		}
		effective++
	}
	t.Logf("%d values are effective, in %d golden files", effective, len(all))
}

// TestEveryIneffectiveValueIsNoticed: the test above would find one.
func TestEveryIneffectiveValueIsNoticed(t *testing.T) {
	v := values{"a": map[string]any{"b": 1, "c": map[string]any{}}, "d": []any{1}, "e": nil}
	var got []string
	for _, path := range leaves(v) {
		got = append(got, strings.Join(path, "."))
	}
	if want := []string{"a.b", "a.c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("the leaves are %v", got)
	}
	if rest := v.without(t, []string{"a", "b"}); len(leaves(rest)) != 3 || len(leaves(v)) != 4 {
		t.Errorf("what is left is %v of %v", rest, v)
	}
}

// TestLint: Helm itself has nothing to say about the chart, with any of the sets.
func TestLint(t *testing.T) {
	for name, v := range sets(t) {
		t.Run(name, func(t *testing.T) {
			out, err := helm.Run(t, root, "lint", "--strict", "--namespace", "skyhook", chartDir, "--values", v.file(t))
			if err != nil || strings.Contains(string(out), "[WARNING]") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const chartFolder = root + "/charts/skyhook-operator/"

// TestFragments: each YAML block has a place, and what is not for the API server is right as well: statuses have the
// fields of the API, values those of the chart.
func TestFragments(t *testing.T) {
	blocks, err := allYAML(root)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[place]int{}
	for _, b := range blocks {
		tried[b.place]++
		if err := b.check(); err != nil {
			t.Errorf("%s: %v", b.at, err)
		}
	}
	if tried[ofStatus] == 0 || tried[chart] == 0 || tried[prometheus] == 0 {
		t.Errorf("only %v tried", tried)
	}
}

func TestWrongFragments(t *testing.T) {
	for name, b := range map[string]block{
		"no place":             {place: "spek", text: "a: 1"},
		"a field of no status": {place: ofStatus, text: "waitin: []"},
		"a value's type":       {place: chart, text: "controllerManager: {replicas: two}"},
		"no value":             {place: chart, text: "controllerManager: {replica: 2}"},
		"a key twice":          {place: prometheus, text: "a: 1\na: 2"},
		"no yaml":              {place: ofSpec, text: "a: [1"},
	} {
		if b.check() == nil {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
}

func (b block) check() error {
	if _, ok := frames[b.place]; ok || b.place == manifests {
		_, err := b.objects() // TestManifests gives them to an API server
		return err
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(b.text), &content); err != nil {
		return err
	}
	switch b.place { //nolint:exhaustive // the others are in frames
	case ofStatus:
		return yaml.UnmarshalStrict([]byte(b.text), &v1alpha1.SkyhookStatus{})
	case chart:
		return checkValues(content)
	case prometheus, policy:
		return nil
	}
	return fmt.Errorf("%q is no place: see the constants in test/docs/blocks_test.go", b.place)
}

// checkValues goes by the chart's schema, which refuses keys that it does not know.
func checkValues(content map[string]any) error {
	schema, err := jsonschema.NewCompiler().Compile(chartFolder + "values.schema.json")
	if err != nil {
		return err
	}
	return schema.Validate(content)
}

// TestSetFlags: the values that commands set exist.
func TestSetFlags(t *testing.T) {
	named := 0
	for _, page := range slices.Concat(pages(t), subpages(t)) {
		for _, match := range regexp.MustCompile(`--set ([a-zA-Z][a-zA-Z.]+)=`).FindAllStringSubmatch(text(t, page), -1) {
			named++
			if err := checkPath(match[1]); err != nil {
				t.Errorf("%s: --set %s: %v", page, match[1], err)
			}
		}
	}
	if named < 5 {
		t.Errorf("only %d values", named)
	}
}

func checkPath(path string) error {
	raw, err := os.ReadFile(chartFolder + "values.yaml")
	if err != nil {
		return err
	}
	var at any
	if err := yaml.Unmarshal(raw, &at); err != nil {
		return err
	}
	for key := range strings.SplitSeq(path, ".") {
		object, _ := at.(map[string]any)
		inner, ok := object[key]
		if !ok {
			return fmt.Errorf("the chart has no value %s", key)
		}
		at = inner
	}
	return nil
}

// TestYAMLIsFenced: YAML in an indented block would escape these tests.
func TestYAMLIsFenced(t *testing.T) {
	blocks := regexp.MustCompile(`(?m)(^\n {4}.*\n(?: {4}.*\n|\n)*)`)
	for _, page := range slices.Concat(pages(t), subpages(t)) {
		for _, indented := range blocks.FindAllString(outsideFences(text(t, page)), -1) {
			if looksLikeYAML(strings.TrimSpace(indented)) {
				t.Errorf("%s: put this between ```yaml and ```:\n%s", page, indented)
			}
		}
	}
	for text, want := range map[string]bool{
		"spec:\n      runtimeRequired: true": true, `{"a": 1}`: false, "kubectl get nodes": false,
		"Warning  ImageMoved  node b: moved": false, "Ready: True": false,
	} {
		if looksLikeYAML(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// looksLikeYAML says of a block without its first indent whether it begins with a key as manifests have them.
func looksLikeYAML(block string) bool {
	return regexp.MustCompile(`^(- )?[a-z][A-Za-z]*:( |\n|$)`).MatchString(block)
}

func outsideFences(page string) string {
	return regexp.MustCompile("(?ms)^```.*?\n```$").ReplaceAllString(page, "")
}

// subpages are those in folders of docs.
func subpages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs/*/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSettings: docs/operator.md says of each setting whether the chart sets it.
func TestSettings(t *testing.T) {
	page := text(t, filepath.Join(root, "docs/operator.md"))
	template := text(t, chartFolder+"templates/_manager.tpl")
	byChart := map[string]bool{}
	for _, match := range regexp.MustCompile(`\{ name: ([A-Z_]+),`).FindAllStringSubmatch(template, -1) {
		byChart[match[1]] = true
	}
	var want []string // settings that the chart leaves alone
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \\|").FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if !byChart[name] {
				want = append(want, name)
			}
			delete(byChart, name)
		}
	}
	for name := range byChart {
		t.Errorf("docs/operator.md does not describe %s, which the chart sets", name)
	}
	_, rest, _ := strings.Cut(page, "except ")
	sentence, _, _ := strings.Cut(rest, ", for which it has no values")
	var got []string
	for _, match := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(sentence, -1) {
		got = append(got, match[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings that the chart does not set (-), and those of which docs/operator.md says so (+):\n%s", diff)
	}
}

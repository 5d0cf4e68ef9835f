package packagefile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// These tests compare checkSchema with what a validator of JSON schemas finds by the files in schema/v1: the same
// problems, at the same places, in the same words and order.

const schemaBase = "https://github.com/skyhook-operator/skyhook/schema/v1/"

var schemaV1 = sync.OnceValue(func() *jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"step.json", "package.json"} {
		raw, err := os.ReadFile("schema/v1/" + name)
		if err != nil {
			panic(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
		if err := compiler.AddResource(schemaBase+name, document); err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
	}
	return compiler.MustCompile(schemaBase + "package.json")
})

// bySchema are the problems that the validator finds.
func bySchema(document any) []Problem {
	err := schemaV1().Validate(document)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var problems []Problem
	for _, leaf := range leaves(invalid) {
		problems = append(problems, explain(leaf)...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return problems
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var result []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		result = append(result, leaves(cause)...)
	}
	return result
}

// explain turns one violation into problems that name the fix.
func explain(e *jsonschema.ValidationError) []Problem {
	at := e.InstanceLocation
	problem := func(at []string, message, fix string) Problem {
		return Problem{File: ConfigFile, Pointer: pointerTo(at...), Message: message, Fix: fix}
	}
	wrong := func(message string) []Problem { return []Problem{problem(at, message, "make it "+meaning(at))} }
	var problems []Problem
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, key := range k.Missing {
			problems = append(problems, problem(inside(at, key), "is missing", "add it: "+meaning(inside(at, key))))
		}
		return problems
	case *kind.AdditionalProperties:
		for _, key := range k.Properties {
			problems = append(problems, problem(inside(at, key), "is not a known key", knownKeys(at)))
		}
		return problems
	case *kind.Type:
		return wrong(fmt.Sprintf("is a JSON %s, not %s", k.Got, strings.Join(k.Want, " or ")))
	case *kind.Const:
		return wrong(fmt.Sprintf("is %q", fmt.Sprint(k.Got)))
	case *kind.Pattern:
		return wrong(fmt.Sprintf("is %q", k.Got))
	case *kind.MinItems, *kind.MinLength:
		return wrong("is empty")
	}
	return wrong(fmt.Sprintf("violates %T, of which checkSchema knows nothing", e.ErrorKind))
}

func compareWithSchema(t *testing.T, document any) {
	t.Helper()
	var report Report
	checkSchema(document, &report)
	if diff := cmp.Diff(bySchema(document), report.Errors); diff != "" {
		t.Errorf("%v\n- what the schema forbids\n+ what checkSchema finds\n%s", document, diff)
	}
}

// everything uses each key of the schema.
const everything = `{
  "schema_version": "v1", "package_name": "p", "package_version": "1.2.3-rc.1+b", "expected_config_files": ["a", "b"], "more": {},
  "modes": {
    "apply": [{"name": "a.b_c-1", "path": "a.sh", "arguments": ["x"], "returncodes": [0, 2], "on_host": true, "idempotence": false,
      "upgrade_step": false, "env": {"A": "b"}, "requires_interrupt": null}],
    "apply-check": [], "interrupt": [], "uninstall-check": []
  }
}`

// others are put in the place of each value.
func others(t *testing.T) []any {
	t.Helper()
	list, err := unmarshal([]byte(`[null, true, 0, -1, 1.0, 1.5, 10e-1, 5e-1, 1e2, 0.0, "", "v1", "v2", "a b", "a\nb", "1.0.0\n", "01.2.3", "é",
		[], [0], [""], ["x"], [[]], {}, {"": 1}, {"a/b~c": null}, {"name": "x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	return list.([]any)
}

// TestSchemaIsWrittenOut for a document with one thing wrong at a time, wherever that is.
func TestSchemaIsWrittenOut(t *testing.T) {
	document, err := unmarshal([]byte(everything))
	if err != nil || len(bySchema(document)) != 0 {
		t.Fatal(err, bySchema(document))
	}
	seen, wrong := 0, 0
	try := func(changed any) {
		compareWithSchema(t, changed)
		seen++
		if len(bySchema(changed)) > 0 {
			wrong++
		}
	}
	variations(document, others(t), try)
	if seen < 700 || wrong < 500 || wrong == seen {
		t.Errorf("%d documents, of which %d are wrong", seen, wrong)
	}
}

// variations calls try with a value in which another one stands for each, keys are left out, and keys are added.
func variations(value any, others []any, try func(any)) {
	for _, other := range others {
		try(other)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			changed := maps.Clone(v)
			delete(changed, key)
			try(changed)
			variations(inner, others, func(inner any) {
				changed[key] = inner
				try(changed)
			})
		}
		for _, key := range []string{"", "Path", "a/b~c", "upgrade", "prepare"} {
			changed := maps.Clone(v)
			changed[key] = []any{}
			try(changed)
		}
	case []any:
		for i, inner := range v {
			changed := slices.Clone(v)
			variations(inner, others, func(inner any) {
				changed[i] = inner
				try(changed)
			})
		}
	}
}

// TestSchemaIsWrittenOutForPackages that there are, whole and broken.
func TestSchemaIsWrittenOutForPackages(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../packages/*/config.json", "../../test/packages/*/*/config.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, error %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if document, err := unmarshal(raw); err == nil {
			compareWithSchema(t, document)
		}
	}
}

// TestUnmarshalAsTheValidator: the errors are part of what people read.
func TestUnmarshalAsTheValidator(t *testing.T) {
	for _, text := range []string{"", " ", "{", "{}", "{} {}", "{}]", "{}}", "[1,]", `{"a": 1e5}`, "\ufeff{}", "nul", `{"a":1}x`, strconv.Quote("a")} {
		want, wantErr := jsonschema.UnmarshalJSON(strings.NewReader(text))
		got, err := unmarshal([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%q: error %v, want %v\n%s", text, err, wantErr, diff)
		}
	}
}

// FuzzSchema is the same for whatever there may be.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{"modes": {"apply": [{"returncodes": [1.50e1, 15e-1, -0, 0e9]}], "x": 1}, "package_version": "1.0.0-01"}`))
	f.Add([]byte(`[{"package_name": "\ud800"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		document, err := unmarshal(raw)
		if err == nil && !oversized(document) {
			compareWithSchema(t, document)
		}
	})
}

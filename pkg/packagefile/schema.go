package packagefile

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed schema/v1/*.json
var schemaFiles embed.FS

const schemaBase = "https://github.com/skyhook-operator/skyhook/schema/v1/"

var schemaV1 = sync.OnceValue(compileSchema)

// compileSchema panics on a fault of the embedded files: no input can cause it.
func compileSchema() *jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"step.json", "package.json"} {
		raw, err := schemaFiles.ReadFile("schema/v1/" + name)
		if err != nil {
			panic(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			panic(fmt.Errorf("embedded schema %s: %w", name, err))
		}
		if err := compiler.AddResource(schemaBase+name, document); err != nil {
			panic(fmt.Errorf("embedded schema %s: %w", name, err))
		}
	}
	return compiler.MustCompile(schemaBase + "package.json")
}

func checkSchema(document any, report *Report) {
	err := schemaV1().Validate(document)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return
	}
	var problems []Problem
	for _, leaf := range leaves(invalid) {
		problems = append(problems, explain(leaf)...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	report.Errors = append(report.Errors, problems...)
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

// explain turns one schema violation into problems that name the fix.
func explain(e *jsonschema.ValidationError) []Problem {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return eachKey(at, k.Missing, func(key string) (string, string) {
			return "is missing", "add it: " + meaning(append(slices.Clone(at), key))
		})
	case *kind.AdditionalProperties:
		return eachKey(at, k.Properties, func(string) (string, string) {
			return "is not a known key", knownKeys(at)
		})
	case *kind.Type:
		message := fmt.Sprintf("is a JSON %s, not %s", k.Got, strings.Join(k.Want, " or "))
		return problemAt(at, message, "make it "+meaning(at))
	case *kind.Const:
		return problemAt(at, fmt.Sprintf("is %q", fmt.Sprint(k.Got)), "make it "+meaning(at))
	case *kind.Pattern:
		return problemAt(at, fmt.Sprintf("is %q", k.Got), "make it "+meaning(at))
	case *kind.MinItems, *kind.MinLength:
		return problemAt(at, "is empty", "make it "+meaning(at))
	default:
		return problemAt(at, strings.Join(e.ErrorKind.KeywordPath(), "/")+" is violated", "make it "+meaning(at))
	}
}

func eachKey(at, keys []string, describe func(key string) (message, fix string)) []Problem {
	var result []Problem
	for _, key := range keys {
		message, fix := describe(key)
		result = append(result, problemAt(append(slices.Clone(at), key), message, fix)...)
	}
	return result
}

func problemAt(at []string, message, fix string) []Problem {
	return []Problem{{File: ConfigFile, Pointer: pointerTo(at...), Message: message, Fix: fix}}
}

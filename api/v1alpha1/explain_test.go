package v1alpha1_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/skyhook-operator/skyhook/charts"
)

// kubectl explain shows the description of each property; one without leaves the user alone with a name.
func TestEveryFieldIsExplained(t *testing.T) {
	definitions, err := charts.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		t.Run(d.Spec.Names.Plural, func(t *testing.T) {
			for _, version := range d.Spec.Versions {
				schema := version.Schema.OpenAPIV3Schema
				// The API server itself explains metadata.
				delete(schema.Properties, "metadata")
				fields := 0
				walk("", schema, func(path string, s *apiextensionsv1.JSONSchemaProps) {
					fields++
					if strings.TrimSpace(s.Description) == "" {
						t.Errorf("%s has no description", path)
					}
				})
				if fields < 20 {
					t.Errorf("found %d fields in %s, the walk is broken", fields, version.Name)
				}
			}
		})
	}
}

// walk visits the schema and all its properties; items and map values only through the properties that hold them.
func walk(path string, s *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	element := s
	for {
		switch {
		case element.Items != nil && element.Items.Schema != nil:
			element, path = element.Items.Schema, path+"[]"
		case element.AdditionalProperties != nil && element.AdditionalProperties.Schema != nil:
			element, path = element.AdditionalProperties.Schema, path+"[*]"
		default:
			for _, name := range slices.Sorted(maps.Keys(element.Properties)) {
				property := element.Properties[name]
				walk(fmt.Sprintf("%s.%s", path, name), &property, visit)
			}
			return
		}
	}
}

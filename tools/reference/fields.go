package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type schema = apiextensionsv1.JSONSchemaProps

// known are fields of types that Kubernetes describes, of which these pages have the name alone.
var known = []string{"additionalTolerations", "nodeSelectors", "podNonInterruptLabels", "selector", "env", "conditions"}

// fields is the page of all fields of both kinds.
func fields(root string) (string, error) {
	var b strings.Builder
	b.WriteString(head("Fields", "the CRDs", "Every field of `skyhook.nvidia.com/v1alpha1`; `kubectl explain skyhook.spec` has the same. `*` stands for\n"+
		"a name that you choose, such as a package's, and `[]` for each entry of a list. [Admission](../admission.md) says what\n"+
		"is refused beyond the types."))
	for _, kind := range []string{"Skyhook", "DeploymentPolicy"} {
		file := map[string]string{"Skyhook": "skyhooks", "DeploymentPolicy": "deploymentpolicies"}[kind]
		raw, err := os.ReadFile(filepath.Join(root, "charts/skyhook-operator/files/crds/skyhook.nvidia.com_"+file+".yaml"))
		if err != nil {
			return "", err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
			return "", err
		}
		for _, part := range []string{"spec", "status"} {
			top := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part]
			fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n\n%s", kind, part, sentence(top.Description),
				table([]string{"field", "type", "meaning"}, rows(part, top)))
		}
	}
	return b.String(), nil
}

// rows are those of all fields below a path.
func rows(path string, s schema) [][]string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below, at := s.Properties[name], path+"."+name
		all = append(all, []string{code(at), kindOf(below), meaning(below, slices.Contains(s.Required, name))})
		if slices.Contains(known, name) {
			continue
		}
		all = append(all, rows(inner(at, &below), below)...)
	}
	return all
}

// inner goes into lists and maps: it replaces the schema by that of an entry, and returns the entry's path.
func inner(path string, s *schema) string {
	for {
		switch {
		case s.Items != nil:
			path, *s = path+"[]", *s.Items.Schema
		case s.AdditionalProperties != nil:
			path, *s = path+".*", *s.AdditionalProperties.Schema
		default:
			return path
		}
	}
}

func kindOf(s schema) string {
	switch {
	case s.Items != nil:
		return "list of " + kindOf(*s.Items.Schema)
	case s.AdditionalProperties != nil:
		return "map of " + kindOf(*s.AdditionalProperties.Schema)
	case s.XIntOrString:
		return "quantity"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

func meaning(s schema, required bool) string {
	parts := []string{sentence(s.Description)}
	if required {
		parts = append(parts, "Required.")
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if s.Default != nil && s.Type != "object" && !strings.Contains(s.Description, "efault") {
		if value := strings.Trim(string(s.Default.Raw), `"`); value != "" {
			parts = append(parts, "Default: `"+value+"`.")
		}
	}
	return strings.Join(parts, " ")
}

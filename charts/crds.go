// Package charts carries the generated CustomResourceDefinitions of the chart, so that programs and tests install exactly
// what the chart ships. It knows nothing of the Go types that they are generated from.
package charts

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed skyhook-operator/files/crds/*.yaml
var files embed.FS

// Definitions returns the project's CRDs, parsed from the generated files: <group>_<plural>.yaml.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "skyhook-operator/files/crds/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	definitions := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read CRD: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return nil, fmt.Errorf("parse CRD %s: %w", name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

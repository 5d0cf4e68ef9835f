// Package config carries the generated CustomResourceDefinitions, so that tests and tools install exactly what the
// chart ships. It knows nothing of the Go types that they are generated from.
package config

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// CRDs holds one file per CustomResourceDefinition: crd/<group>_<plural>.yaml.
//
//go:embed crd/*.yaml
var CRDs embed.FS

// Definitions returns the project's CRDs, parsed from the generated files.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(CRDs, "crd/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	definitions := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		text, err := CRDs.ReadFile(name)
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

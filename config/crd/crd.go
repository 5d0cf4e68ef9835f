// Package crd carries the generated CustomResourceDefinitions, so that tests and tools install exactly what the chart
// ships. It knows nothing of the Go types that they are generated from.
package crd

import "embed"

// Files holds one YAML file per CustomResourceDefinition.
//
//go:embed *.yaml
var Files embed.FS

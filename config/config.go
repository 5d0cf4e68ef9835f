// Package config carries the generated CustomResourceDefinitions, so that tests and tools install exactly what the
// chart ships. It knows nothing of the Go types that they are generated from.
package config

import "embed"

// CRDs holds one file per CustomResourceDefinition: crd/<group>_<plural>.yaml.
//
//go:embed crd/*.yaml
var CRDs embed.FS

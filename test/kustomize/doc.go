// Package kustomize proves that the base beside config/install.yaml, and the example on top of it, can be built.
package kustomize

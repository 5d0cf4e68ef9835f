// Package kustomize proves that the base of a release, and the example on top of it, can be built.
package kustomize

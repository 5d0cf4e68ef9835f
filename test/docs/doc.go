// Package docs checks that pages tell the truth where a change makes them untrue most easily: the phases and gates of a
// package's life in docs/architecture.md; links, headings and the code that pages name; that reasons have one table,
// and pages the terms of the glossary; that examples and the files for GitHub are valid.
//
// What people copy is tried: an API server takes every YAML block, and scripts may run twice. A block between ```yaml
// and ``` has whole manifests; a word behind "yaml" names the place that a fragment belongs to, see the constants of
// type place.
package docs

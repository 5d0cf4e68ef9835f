// Package docs checks that docs/architecture.md tells the truth where a change of the code makes it untrue most easily:
// the phases and gates of a package's life, and the files that it sends readers to.
package docs

// Package docs checks that pages tell the truth where a change of the code makes them untrue most easily: the phases and
// gates of a package's life in docs/architecture.md, and the files and pages that it and docs/decisions send readers to. Of the
// other pages it checks what a test can: that a term has one meaning, and that examples are valid.
package docs

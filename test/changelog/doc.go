// Package changelog tests how the changelog is made, tools/changelog.
package changelog

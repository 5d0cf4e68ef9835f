// Package purity proves what the linters, which look at one file at a time, cannot: that the functional core is built
// from pure packages only, that the agent on hosts has nothing of what only the other programs need, and that public
// keys stand in one place, as no other Go file of internal and cmd spells one out.
package purity

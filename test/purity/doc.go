// Package purity proves that the functional core is pure: the packages that purity_test.go lists, and every
// package of this module that they are built from, use no client, no clock and no logger.
//
// The linter says so too, file by file; this also follows what the core imports. It knows rules, not the core.
//
// It proves as well that the agent on hosts has nothing of what only the other programs need, and that the public keys
// stand in one place: no other Go file of internal and cmd spells one out.
package purity

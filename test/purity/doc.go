// Package purity proves that the functional core is pure: internal/{admission,capability,drain,lifecycle,record,rollout,taint,workload}, and every package
// of this module that they are built from, use no client, no clock and no logger.
//
// The linter says so too, file by file; this also follows what the core imports. It knows rules, not the core.
package purity

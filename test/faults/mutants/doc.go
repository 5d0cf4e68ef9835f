// Package mutants proves that the simulator finds what it is there to find: its test plants small bugs into the engine,
// switches on one at a time, and expects the finding that names it. Run it with the build tag mutants; it builds the
// engine once for all bugs that are in different places.
package mutants

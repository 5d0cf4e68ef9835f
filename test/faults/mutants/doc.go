// Package mutants proves that the simulator finds what it is there to find: its test plants one small bug at a time
// into the engine and expects the finding that names it. Run it with the build tag mutants; it builds the engine once
// per bug.
package mutants

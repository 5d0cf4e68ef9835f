// Package lifecycle decides what happens next on one node for one Skyhook.
//
// Next takes what was observed (spec, record, pods, permit, hold) and returns a Decision: what must be remembered,
// started and deleted, and what is waited for. It is level-triggered: the same observation gives the same decision,
// whoever asks and however often, so an operator that dies between two writes loses nothing. It knows no client, clock
// or logger.
//
// A decision goes one way, for each package version that the spec wants or that is to be removed:
//
//	phase    what is true of it: PhaseOf, in phase.go, from its entry
//	step     what follows: one switch, in next.go
//	gates    whether a pod may start now: one ordered list, in gates.go
//	waits    why not: a Wait with who can end it, in waits.go
//
// Steps are values, and the new record follows from them in Decision.take alone. Each stage has its file: apply.go,
// config.go, postinterrupt.go, uninstall.go. The interrupt is one for all packages, and one at most is in flight on a
// node, whoever owns it: interrupt.go begins and ends it, merge.go says what it does and for whom, breakoff.go when it
// is no longer wanted. What a stage's pod means is the same for all of them: run.go, with limits.go and serial.go.
//
// What others ask is answered by pure functions of a record: FactsOf for the plan, Complete, Wanted.Removals. Remove is
// for a node that the Skyhook has to be removed from, Unreadable for a record that nobody can read.
//
// docs/architecture.md has the tables of phases and gates.
package lifecycle

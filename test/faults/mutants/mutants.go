package mutants

import "slices"

// Mutant is one bug: a piece of syntax that is once in a function of the engine, and what it is replaced by.
type Mutant struct {
	Name string
	// Package is a folder of the repository; Func a function of it, written Type.method if it is one.
	Package, Func string
	// Before is an expression or statements, compared as syntax, so that layout, comments and files do not matter; a
	// block {etc} is any block. Statements declare nothing that is used after them; a call that is one ends with a
	// semicolon. After takes the place of Before; $0 in it is what was there. Both are in one binary, and only one of them
	// counts. An expression that is no comparison, and, or, or not, is evaluated in both forms, so that it must not change
	// anything.
	Before, After string
	// Findings are the names of the checks that may find it, as the beginning of a finding's signature, separated by
	// commas. Anything else that is found says nothing about the bug.
	Findings string
}

// Folders of the engine.
const (
	lifecycle = "internal/lifecycle"
	rollout   = "internal/rollout"
	situation = "internal/situation"
	recording = "internal/record"
	draining  = "internal/drain"
	evicting  = "internal/drain/evict"
	tainting  = "internal/taint"
	node      = "internal/controller/node"
	skyhook   = "internal/controller/skyhook"
	state     = "internal/controller/state"
)

// stuck are the findings of a world that does not come to rest, or in which something waits for nobody.
const stuck = "cure-in-vain/,never-complete/,no-cure/,no-reason/,waits-for-nobody/,slot-held/,cycle/,no-rest/," +
	"pods-forever/,permit-left/,pod-left/,cordon-left/"

// Mutants are the bugs, each of them one that is easily made.
var Mutants = slices.Concat(ofLifecycle, ofSituation, ofRollout, ofControllers, candidates)

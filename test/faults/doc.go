// Package faults runs the real controllers against an API server in memory, lagging caches, scripted kubelets and
// agents, and everything that may go wrong around them, in virtual time.
//
// One Plan is one world and all that happens to it; one seed is one Plan. Nothing runs concurrently: a scheduler picks
// the next thing to do (deliver events to a cache, reconcile a key, let a timer fire, let a kubelet take a step, let
// something happen), so that a Plan is a trace that can be run again and shrunk. After every write the invariants of
// design.md are checked; at the end nothing more happens, and everything has to become complete, or say what a user
// must do, and be complete when somebody does it.
//
// The package knows the public surface only: objects, records, what people read in a status. It must not know how the
// engine decides, else it would agree with its mistakes.
package faults

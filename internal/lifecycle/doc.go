// Package lifecycle decides what happens next on one node for one Skyhook.
//
// Next takes what was observed (spec, record, pods, gate) and returns what must be remembered, started and deleted, and
// what is waited for. It is level-triggered: the same observation gives the same decision, whoever asks and however
// often, so an operator that dies between two writes loses nothing. It knows no client, clock or logger.
//
// The life of a package is one file per stage: see stage.go for the order, active.go for a stage that has a pod.
package lifecycle

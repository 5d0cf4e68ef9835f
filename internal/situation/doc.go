// Package situation says what is with one node for one Skyhook: in which phase each package is, what is true of the node,
// which status and reason people are shown, and what it means for its batch. Everything that asks reads it here.
//
// It is a function of the record, of what is wanted and of what holds the node. It knows no client, clock or logger, and
// does not know what happens next: that is the lifecycle's.
package situation

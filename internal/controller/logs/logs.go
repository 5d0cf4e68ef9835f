// Package logs has what the log lines of the controllers have in common, so that one search finds all that was done for
// a Skyhook, a node or a package: docs/operator.md lists the lines.
//
// A line tells of something that has happened: it follows the write. It has names, numbers and words of the API, and
// never contents: no env, no configMap, no output of steps and no messages that may quote them.
package logs

// Keys of the values of a line.
const (
	Skyhook    = "skyhook"
	Node       = "node"
	Package    = "package"
	Version    = "version"
	Stage      = "stage"
	State      = "state"
	Pod        = "pod"
	Permit     = "permit"
	Reason     = "reason"
	From       = "from"
	To         = "to"
	Condition  = "condition"
	Taint      = "taint"
	Generation = "generation"
)

// Debug is the verbosity of lines that only LOG_LEVEL=debug shows.
const Debug = 1

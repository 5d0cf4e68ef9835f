package tryout

import (
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// plan is what the child has to do, as it gets it from the command.
type plan struct {
	// Root is where the root folder is once everything is mounted.
	Root string
	// Overlay is mounted at Root, unless it is nil.
	Overlay *overlay
	// Machine says that Root is the machine's own root, and no overlay.
	Machine bool
	// Package is the folder to copy.
	Package string
	// Name and Version are the package's in the Skyhook.
	Name    string
	Version string
	Modes   []packagefile.Mode
	// Env is the package's env.
	Env []string
	// ConfigMap and NodeMetadata have the content of files by name.
	ConfigMap    map[string][]byte
	NodeMetadata map[string][]byte
}

// overlay is a folder that keeps the changes of another one.
type overlay struct {
	// Dir is the folder that the author named.
	Dir string
	// Lower is the folder that stays as it is.
	Lower string
}

// Upper has the files that differ.
func (o overlay) upper() string { return o.Dir + "/changes" }

// work is for the kernel alone.
func (o overlay) work() string { return o.Dir + "/work" }

// mountPoint stays empty for all others on the machine.
func (o overlay) mountPoint() string { return o.Dir + "/root" }

// origin is a file that names Lower.
func (o overlay) origin() string { return o.Dir + "/origin" }

// outcome is what the child tells: a run that has ended, which settings of the
// kernel all runs have changed, or why there is none.
type outcome struct {
	Run      *Run
	Settings []Change
	Error    string
}

// The child's open files beside standard input and outputs.
const (
	planFile    = 3
	outcomeFile = 4
)

// The program starts itself for a trial. Its main function has to see to these
// first arguments.
const (
	// InsideMode is for the child, and calls Inside.
	InsideMode = "run-inside"
	// AgentMode is for the child's own child: the agent, with the arguments
	// that follow.
	AgentMode = "run-agent"
)

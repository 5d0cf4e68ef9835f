// Package packagefile reads, validates and describes a package: a folder (or
// any other file tree) with a config.json, the scripts it names, and optional
// files for the host.
//
// It is shared by the agent, the command line and tests, so it must not know
// about hosts, containers or clusters: it takes an [io/fs.FS] and returns
// values. It never runs anything.
package packagefile

// The parts of a package, relative to its root; those after HostFilesDir are
// added on a host.
const (
	ConfigFile   = "config.json"
	StepDir      = "skyhook_dir"
	HostFilesDir = "root_dir"
	ConfigMapDir = "configmaps"
	MetadataDir  = "node-metadata"
)

// Package tryout runs a stage of a package against a root folder, the way the
// operator has it run on a host, and tells which files changed. It is for the
// authors of packages, who have no cluster at hand.
//
// A child of the same program does the work in mount and process namespaces of
// its own: whatever way it ends, the kernel takes its mounts and the processes
// of the steps away with it. In there the agent itself is started as a pod
// would start it.
//
// It must not know how the agent runs a stage, nor the command line.
package tryout

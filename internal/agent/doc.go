// Package agent runs one stage of a package on one host, then ends. Its exit
// code is the whole protocol with the operator: 0 for done, anything else for
// failed and to be tried again.
//
// It builds for Linux only, as hosts are. It must not know about Kubernetes: it gets arguments, variables, a package
// folder and the host's root directory.
package agent

//go:build linux

package testbed

import (
	"errors"
	"fmt"
	"os"
)

// The daemon and the first process of each node are this same program, whatever program that is: the testbed's command
// or a test binary that imports this package. These variables say which part to play.
const (
	roleVar   = "SKYHOOK_TESTBED_ROLE"
	configVar = "SKYHOOK_TESTBED_CONFIG"

	roleDaemon = "daemon" // config: the state folder
	roleNode   = "node"   // config: nodeBoot as JSON
)

// init runs before any code of the program's main, so a test binary started as a daemon runs no tests, and on the
// process's first thread, which a node's PID 1 needs.
func init() {
	role, config := os.Getenv(roleVar), os.Getenv(configVar)
	if role == "" {
		return
	}
	err := errors.New("unknown role")
	switch role {
	case roleDaemon:
		err = runDaemon(config)
	case roleNode:
		err = nodeInit(config)
	}
	fmt.Fprintf(os.Stderr, "testbed %s: %v\n", role, err)
	os.Exit(1)
}

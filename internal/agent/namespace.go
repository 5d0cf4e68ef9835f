package agent

import (
	"fmt"
	"os"
)

const (
	initNamespace = "/proc/1/ns/mnt"
	initRoot      = "/proc/1/root/"
)

// openNamespace opens the mount namespace of the host if steps are to run in
// it; nil if not. Without it a step sees the host's files, but what it mounts
// is only in the container and goes with it.
func (a *agent) openNamespace() (*os.File, error) {
	switch a.Namespaces {
	case "":
		return nil, nil
	case mountNamespace:
	default:
		return nil, fmt.Errorf("%s is %q; the only value is %q", namespacesVariable, a.Namespaces, mountNamespace)
	}
	// Without hostPID process 1 is the container's, and its files not the host's.
	root, err := os.Stat(initRoot)
	if err != nil {
		return nil, fmt.Errorf("find the host's mount namespace for %s=%s: %w", namespacesVariable, a.Namespaces, err)
	}
	here, err := os.Stat("/")
	if err != nil {
		return nil, fmt.Errorf("find the host's mount namespace: %w", err)
	}
	if !os.SameFile(root, here) {
		return nil, fmt.Errorf("%s=%s needs a pod with hostPID: process 1 has another root directory than the host",
			namespacesVariable, a.Namespaces)
	}
	file, err := os.Open(initNamespace)
	if err != nil {
		return nil, fmt.Errorf("open the host's mount namespace: %w", err)
	}
	return file, nil
}

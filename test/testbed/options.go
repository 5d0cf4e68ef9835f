//go:build linux

package testbed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/build/cachedir"
)

// MaxNodes is the highest node count; node addresses are 10.200.1.<n>.
const MaxNodes = 200

// maxSocketDir keeps <state>/daemon.sock within the 108 bytes of a unix socket address.
const maxSocketDir = 90

// Options says where a cluster lives and what it looks like. The zero value is the default cluster with no nodes.
type Options struct {
	// State is the folder of everything that belongs to this cluster; default $TESTBED_STATE, else <Cache>/testbed-state.
	State string
	// Cache is the folder of what clusters share: binaries and the nodes' root file system; default $SKYHOOK_CACHE, else
	// skyhook in the user's cache folder.
	Cache string
	// Kubernetes is the minor version, such as 1.31, of which there must be a folder k8s-1.31; default $TESTBED_KUBERNETES,
	// else the newest, which is that of the folder k8s.
	Kubernetes string
	// Nodes is the number of nodes wanted, 0 to MaxNodes.
	Nodes int
	// Progress gets short lines on what is being done; nil means silence.
	Progress io.Writer
}

// withDefaults fills empty fields and makes the folders absolute.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Cache == "" {
		if o.Cache, err = cachedir.Path(); err != nil {
			return o, err
		}
	}
	if o.State == "" {
		o.State = os.Getenv("TESTBED_STATE")
	}
	if o.State == "" {
		o.State = filepath.Join(o.Cache, "testbed-state")
	}
	if o.Kubernetes == "" {
		o.Kubernetes = os.Getenv("TESTBED_KUBERNETES")
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.State, err = absolute(o.State); err != nil {
		return o, err
	}
	if o.Cache, err = absolute(o.Cache); err != nil {
		return o, err
	}
	return o, o.validate()
}

func (o Options) validate() error {
	if o.Nodes < 0 || o.Nodes > MaxNodes {
		return fmt.Errorf("nodes: %d is not between 0 and %d", o.Nodes, MaxNodes)
	}
	if len(o.State) > maxSocketDir {
		return fmt.Errorf("state folder %s: the path is longer than %d bytes, which unix sockets cannot have; set TESTBED_STATE to a shorter one", o.State, maxSocketDir)
	}
	return nil
}

// id names the cluster of this state folder in places that know no paths, such as control groups.
func (o Options) id() string {
	sum := sha256.Sum256([]byte(o.State))
	return "skyhook-testbed-" + hex.EncodeToString(sum[:4])
}

// absolute resolves symbolic links of the part that exists, so that one folder has one id.
func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		return resolved, nil
	}
	parent := filepath.Dir(abs)
	if parent == abs {
		return abs, nil
	}
	if parent, err = absolute(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

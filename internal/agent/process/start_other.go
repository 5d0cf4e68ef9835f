//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// start lets packages be validated elsewhere; hosts are Linux.
func start(cmd *exec.Cmd, namespace *os.File) error {
	if namespace != nil {
		return errors.New("mount namespaces need Linux")
	}
	return cmd.Start()
}

// NoExec is not known here.
func NoExec(string) bool { return false }

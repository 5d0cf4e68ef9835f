package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// makeExecutable is needed because images are often built without the bits.
func makeExecutable(script string) error {
	info, err := os.Stat(script)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o111 != 0o111 {
		return os.Chmod(script, mode|0o111)
	}
	return nil
}

// explainStart adds what the kernel's error number leaves out.
func explainStart(script string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; start the script with a line such as #!/bin/bash", err)
	case errors.Is(err, fs.ErrNotExist):
		if first := interpreter(script); first != "" {
			return fmt.Errorf("%w; the host has no %s", err, first)
		}
	}
	return err
}

// interpreter is what a script's "#!" line names, or empty.
func interpreter(script string) string {
	file, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 256)
	n, _ := io.ReadFull(file, head)
	name, _ := packagefile.Interpreter(head[:n])
	return name
}

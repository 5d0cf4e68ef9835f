package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/process"
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
	case errors.Is(err, fs.ErrPermission) && process.NoExec(script):
		return fmt.Errorf("%w; its file system is mounted noexec: set copyDirRoot of the operator's chart to a "+
			"directory on another file system of the hosts", err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; start the script with a line such as #!/bin/bash", err)
	case errors.Is(err, fs.ErrNotExist):
		if first, _ := interpreter(script); first != "" {
			return fmt.Errorf("%w; the host has no %s", err, first)
		}
	}
	return err
}

// commandFor is what to start for a script. Where its file system is mounted
// noexec, as on Container-Optimized OS, that is its interpreter, with the
// arguments that the kernel would give it.
func commandFor(script string, arguments []string) (path string, args []string) {
	if !process.NoExec(script) {
		return script, arguments
	}
	name, argument := interpreter(script)
	if name == "" {
		return script, arguments
	}
	if argument != "" {
		args = append(args, argument)
	}
	return name, append(append(args, script), arguments...)
}

// interpreter is what a script's "#!" line names, or empty. All that follows
// the name is one argument.
func interpreter(script string) (name, argument string) {
	file, err := os.Open(script)
	if err != nil {
		return "", ""
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 256)
	n, _ := io.ReadFull(file, head)
	name, _ = packagefile.Interpreter(head[:n])
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	_, argument, _ = strings.Cut(line, name)
	return name, strings.TrimSpace(argument)
}

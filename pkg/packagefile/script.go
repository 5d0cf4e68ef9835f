package packagefile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// MaxScript is how much of a script [Lint] looks at, in bytes: far more than
// kernels do for its #! line.
const MaxScript = 4096

// script checks that the kernel of a host can start a file. A script that no
// step names and that has no #! line is a library, which others source.
func (l *linter) script(file string, info fs.FileInfo, named bool) {
	if l.seen[file] {
		return
	}
	l.seen[file] = true
	content, err := l.beginning(file)
	if err != nil {
		l.err = err
		return
	}
	interpreter, found := Interpreter(content)
	if !executable(info) && (named || found) {
		// It runs all the same: the agent sets the bits, if only of scripts that steps name.
		l.report.warnFile(file, "chmod +x it, and commit that (git update-index --chmod=+x)", "is not executable")
	}
	if bytes.HasPrefix(content, []byte("\x7fELF")) {
		return
	}
	l.report.LineEnds(file, content)
	switch {
	case !found && bytes.HasPrefix(content, []byte("\xef\xbb\xbf#!")):
		l.report.failFile(file, "save it as UTF-8 without a byte order mark", "has a byte order mark before its #! line")
	case !found && named:
		l.report.failFile(file, "begin it with #! and the interpreter, such as #!/bin/bash", "does not begin with #!")
	case found && interpreter == "":
		l.report.failFile(file, "write the interpreter after #!, such as #!/bin/bash", "has a #! line without an interpreter")
	case found && !strings.HasPrefix(interpreter, "/"):
		l.report.failFile(file, "write its absolute path, such as #!/bin/bash or #!/usr/bin/env "+interpreter,
			"names the interpreter %s without its path", interpreter)
	}
}

// Interpreter is the program that a script's #! line names, by the script's
// first bytes; empty for a line that names none.
func Interpreter(content []byte) (name string, found bool) {
	rest, found := bytes.CutPrefix(content, []byte("#!"))
	if !found {
		return "", false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return "", true
	}
	return string(fields[0]), true
}

func (l *linter) beginning(file string) ([]byte, error) {
	f, err := l.fsys.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the package: %w", err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, MaxScript))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return content, nil
}

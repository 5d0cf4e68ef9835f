package agent

import (
	"errors"
	"path/filepath"
	"strings"
)

// Modes of the agent beside the stages of a package.
const (
	modeInterrupt = "interrupt"
	// modeComplete is what a pod runs last, when its stage is over.
	modeComplete = "complete"
	modeVersion  = "version"
	modeHelp     = "help"
	// modeLogs prints what steps left in a folder of logs, for kubectl skyhook logs: the image has no other program.
	modeLogs = "logs"
	// modeValidate checks a package as on a node.
	modeValidate = "validate"
	// modeRun is a command of skyhook by now.
	modeRun = "run"
)

const defaultRootMount = "/root"

const usage = `Runs one stage of a package on a host.

Usage:
  skyhook-agent STAGE ROOT COPY_DIR            run a stage; STAGE is one of
                                               %s
  skyhook-agent interrupt ROOT COPY_DIR DATA   run an interrupt
  skyhook-agent complete ROOT COPY_DIR         do nothing: the stage is over
  skyhook-agent logs DIR [PACKAGE]             print the logs below DIR, the oldest first
  skyhook-agent validate PATH                  check a package folder, or its config.json, as on a node
  skyhook-agent version                        print the version
  skyhook-agent help                           print this text

ROOT is the host's root directory as mounted here, and may be left out (/root).
COPY_DIR is the absolute path of the package's directory on the host.

To check all of a package, and to try and build it, use skyhook package.
`

// commandLine is a parsed command line that works on a host.
type commandLine struct {
	Mode      string
	RootMount string
	// CopyDir is the package's folder, as the host sees it.
	CopyDir string
	// Data describes an interrupt; empty for stages.
	Data string
}

var errUsage = errors.New("wrong number of arguments")

// parseCommandLine reads the positional forms, also those without a root mount
// that older operators send.
func parseCommandLine(args []string) (commandLine, error) {
	switch {
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		return commandLine{}, errors.New("unknown option " + args[0])
	case len(args) == 2:
		return commandLine{Mode: args[0], RootMount: defaultRootMount, CopyDir: args[1]}, nil
	case len(args) == 3 && args[0] == modeInterrupt:
		return commandLine{Mode: args[0], RootMount: defaultRootMount, CopyDir: args[1], Data: args[2]}, nil
	case len(args) == 3:
		return commandLine{Mode: args[0], RootMount: args[1], CopyDir: args[2]}, nil
	case len(args) == 4:
		return commandLine{Mode: args[0], RootMount: args[1], CopyDir: args[2], Data: args[3]}, nil
	}
	return commandLine{}, errUsage
}

func (i commandLine) validate() error {
	if !filepath.IsAbs(i.CopyDir) {
		return errors.New("COPY_DIR must be an absolute path on the host, not " + i.CopyDir)
	}
	return nil
}

package packagefile

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Package is the decoded config.json of a package.
type Package struct {
	// Name and Version identify the package in flags, history and logs. They
	// may differ from the name and version a user gives it in a Skyhook.
	Name    string
	Version string
	// ExpectedConfigFiles are the config map keys the package cannot do without.
	ExpectedConfigFiles []string
	// Modes holds the steps of every mode that config.json lists, in order.
	Modes map[Mode][]Step
}

// Step is one script and how to run it.
type Step struct {
	Name string
	// Path is relative to [StepDir], with forward slashes, as written.
	Path string
	// Arguments are as written; those that start with "env:" name a variable.
	Arguments []string
	// ReturnCodes are the accepted exit codes as JSON literals (never empty):
	// the literal is part of the name of the step's flag on a host.
	ReturnCodes []json.Number
	OnHost      bool
	// AlwaysRun (JSON: idempotence) says that the script itself copes with
	// being run again, so it is never skipped.
	AlwaysRun bool
	// UpgradeStep wants the previous and the current version as arguments.
	UpgradeStep bool
	// Env is added to the script's environment.
	Env map[string]string
}

// Accepts reports whether exit code means success for this step.
func (s Step) Accepts(code int) bool {
	for _, want := range s.ReturnCodes {
		if number, err := strconv.ParseFloat(want.String(), 64); err == nil && number == float64(code) {
			return true
		}
	}
	return false
}

// AcceptedCodes lists the accepted exit codes for messages: "0" or "0 or 2".
func (s Step) AcceptedCodes() string {
	codes := make([]string, len(s.ReturnCodes))
	for i, code := range s.ReturnCodes {
		codes[i] = code.String()
	}
	return strings.Join(codes, " or ")
}

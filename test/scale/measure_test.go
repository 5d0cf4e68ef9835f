package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestFailedPhase: a phase that fails says why, whatever it had not read until then.
func TestFailedPhase(t *testing.T) {
	command := exec.Command("true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	r := run{name: "plain", size: Size{Nodes: 3, Packages: 1}, operator: &operator{command: command}}
	if _, err := r.observed(t.Context(), phaseInstall, nil); err == nil || !strings.Contains(err.Error(), "peak memory") {
		t.Errorf("got %v; the operator is gone", err)
	}
}

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStopTwice: an operator that ended already, by a failed takeover for example, is not waited for.
func TestStopTwice(t *testing.T) {
	for name, end := range map[string]func(*operator) error{"stopped": (*operator).stop, "killed": (*operator).kill} {
		o := &operator{command: exec.Command("sh", "-c", "trap 'exit 0' TERM; echo; while :; do read -r x; done"), ended: make(chan error, 1)}
		stdin, err := o.command.StdinPipe() // which it reads from until it ends
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := o.command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := o.command.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil { // the trap is there
			t.Fatal(err)
		}
		go func() { o.ended <- o.command.Wait() }()
		if err := end(o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := o.stop(); err != nil {
			t.Errorf("%s, and stopped: %v", name, err)
		}
		_ = stdin.Close() // of a process that is gone
	}
}

// TestTakeoverWithoutProgram: what keeps the operator from starting again is told, and what is left can be stopped.
func TestTakeoverWithoutProgram(t *testing.T) {
	o := &operator{command: exec.Command("true"), ended: make(chan error, 1)}
	if err := o.command.Start(); err != nil {
		t.Fatal(err)
	}
	o.ended <- o.command.Wait()
	r := run{
		operator: o, folder: t.TempDir(), control: &control{}, patience: 1 << 40,
		program: Program{File: filepath.Join(t.TempDir(), "gone")},
	}
	if _, err := r.takeOver(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "start the operator") {
		t.Errorf("got %v", err)
	}
	if err := r.operator.stop(); err != nil {
		t.Errorf("stop what is left: %v", err)
	}
}

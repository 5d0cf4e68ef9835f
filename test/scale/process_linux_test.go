package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestStat(t *testing.T) {
	program, rest, ok := splitStat("42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 0 0 20 0")
	if !ok || program != "a (b) c" || rest[1] != "7" {
		t.Errorf("%q, %q, %t", program, rest, ok)
	}
	if used, err := ticks(rest[11], rest[12]); err != nil || used != 2*time.Second {
		t.Errorf("%s, %v", used, err)
	}
	for _, text := range []string{"", "42 (a", "42 (a) S 7"} {
		if _, _, ok := splitStat(text); ok {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestOwnProcess reads what the kernel says of this test.
func TestOwnProcess(t *testing.T) {
	p := processes{processHarness: os.Getpid()}
	for used := time.Duration(0); used == 0; { // asking takes CPU time, until a tick of it is counted
		u, err := p.usage()
		if err != nil {
			t.Fatal(err)
		}
		used = u.process[processHarness]
	}
	m, err := memory(os.Getpid())
	if err != nil || m.anonymous < 1<<20 || m.resident < m.anonymous || m.peak < m.resident {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := child("kube-apiserver"); err == nil || !strings.Contains(err.Error(), "no process kube-apiserver") {
		t.Errorf("%v", err)
	}
}

//go:build mutants

package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// maxSeeds is within how many worlds a planted bug has to be found.
const maxSeeds = 2000

// found is one finding of a run of the simulator.
type found struct {
	signature string
	seed      int
}

// foundLine is how TestWorlds tells of a finding.
var foundLine = regexp.MustCompile(`(?m)^ *worlds_test\.go:\d+: (.+?): \d+ of \d+ worlds, first seed (\d+) `)

// simulator is a built test binary of the simulator, and the name of the bug in it that is switched on; none if empty.
type simulator struct{ binary, bug string }

// TestMutants plays worlds from the first seed on, with each bug, until one shows it. As many bugs as can be are in one
// binary, where they are switched on by name: to build one for each would take longer than to play.
func TestMutants(t *testing.T) {
	changes := make([]change, len(Mutants))
	for i, m := range Mutants {
		_, changes[i] = m.changeOf(t)
	}
	binaries := make([]func() string, len(Mutants))
	for _, round := range rounds(changes) {
		binary := sync.OnceValue(func() string { return build(t, round, changes) })
		for _, i := range round {
			binaries[i] = binary
		}
	}
	for i, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			buggy, sound := simulator{binaries[i](), m.Name}, simulator{binaries[i](), ""}
			for seed := 1; ; {
				f, ok := buggy.first(t, m, seed, maxSeeds-seed+1)
				if !ok {
					t.Fatalf("none of %s within %d worlds", m.Findings, maxSeeds)
				}
				if !sound.has(t, m, f) {
					t.Logf("seed %d: %s", f.seed, f.signature)
					return
				}
				seed = f.seed + 1 // the engine shows that without the bug
			}
		})
	}
}

// build builds the simulator on the engine with the bugs of a round.
func build(t *testing.T, round []int, changes []change) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "faults.test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", binary, "-overlay", overlay(t, dir, round, changes), "./test/faults")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// overlay writes the changed files and tells the go command to take them for the real ones.
func overlay(t *testing.T, dir string, round []int, all []change) string {
	t.Helper()
	var changes []change
	for _, i := range round {
		changes = append(changes, all[i])
	}
	files := apply(changes)
	for _, i := range round {
		s, _ := Mutants[i].changeOf(t)
		files[filepath.Join(s.Dir, switchesFile)] = switches(s.Name)
	}
	replaced := map[string]string{}
	for path, text := range files {
		replaced[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(dir, "overlay.json")
	raw, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err := errors.Join(err, os.WriteFile(list, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
	return list
}

// first plays worlds until one has a finding that is expected of the bug.
func (s simulator) first(t *testing.T, m Mutant, seed, n int) (found, bool) {
	t.Helper()
	var best found
	for _, f := range s.play(t, m, seed, n) {
		if best.seed == 0 || f.seed < best.seed {
			best = f
		}
	}
	return best, best.seed > 0
}

// has reports whether the world of a finding has it here as well.
func (s simulator) has(t *testing.T, m Mutant, f found) bool {
	t.Helper()
	for _, other := range s.play(t, m, f.seed, 1) {
		if other.signature == f.signature {
			return true
		}
	}
	return false
}

// play returns what TestWorlds finds. It stops at the first world that has a finding.
func (s simulator) play(t *testing.T, m Mutant, seed, n int) []found {
	t.Helper()
	cmd := exec.Command(s.binary, "-test.run=TestWorlds$", "-test.timeout=1h", "-faults.stop", "-faults.shrink=0", "-faults.progress=1h",
		fmt.Sprintf("-faults.seed=%d", seed), fmt.Sprintf("-faults.n=%d", n), "-faults.find="+m.Findings)
	cmd.Dir, cmd.Env = filepath.Join(root, "test/faults"), append(os.Environ(), switchedBy+"="+s.bug)
	out, err := cmd.CombinedOutput()
	var list []found
	for _, match := range foundLine.FindAllStringSubmatch(string(out), -1) {
		seed, err := strconv.Atoi(match[2])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found{match[1], seed})
	}
	if (err != nil) != (len(list) > 0) { // it fails with its findings, and with nothing else
		t.Fatalf("%v\n%s", err, out)
	}
	return list
}

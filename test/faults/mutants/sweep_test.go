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

// simulator is a built test binary of the simulator.
type simulator string

// TestMutants plants each bug and plays worlds from the first seed on until one shows it.
func TestMutants(t *testing.T) {
	sound := build(t, nil)
	for _, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			buggy := build(t, &m)
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

// build builds the simulator on the engine with a bug; without one for nil.
func build(t *testing.T, m *Mutant) simulator {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "faults.test")
	args := []string{"test", "-c", "-o", binary}
	if m != nil {
		args = append(args, "-overlay", overlay(t, dir, *m))
	}
	cmd := exec.Command("go", append(args, "./test/faults")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return simulator(binary)
}

// overlay writes the changed file and tells the go command to take it for the real one.
func overlay(t *testing.T, dir string, m Mutant) string {
	t.Helper()
	_, p := m.planted(t)
	changed, list := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {p.file: changed}})
	if err := errors.Join(err, os.WriteFile(changed, []byte(p.text), 0o600), os.WriteFile(list, replace, 0o600)); err != nil {
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
	cmd := exec.Command(string(s), "-test.run=TestWorlds$", "-test.timeout=1h", "-faults.stop", "-faults.shrink=0", "-faults.progress=1h",
		fmt.Sprintf("-faults.seed=%d", seed), fmt.Sprintf("-faults.n=%d", n), "-faults.find="+m.Findings)
	cmd.Dir = filepath.Join(root, "test/faults")
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

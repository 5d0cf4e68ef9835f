//go:build integration

package kit_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommandLine of the program itself.
func TestCommandLine(t *testing.T) {
	a := newAuthor(t)
	for line, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"version":           {0, "1.2.3-test\n", ""},
		"--version":         {0, "1.2.3-test\n", ""},
		"":                  {0, "skyhook COMMAND", ""},
		"help package":      {0, "skyhook package COMMAND", ""},
		"package":           {0, "validate    Check a package", ""},
		"package --help":    {0, "skyhook package COMMAND", ""},
		"validate":          {1, "", `unknown command "validate" for "skyhook"`},
		"package check":     {2, "", `ERROR: unknown command "check" for "skyhook package"`},
		"package validate":  {2, "", "ERROR: validate wants one package folder, config.json, OCI layout, docker archive or image, not 0 arguments\nUsage: "},
		"package --root /x": {2, "", "ERROR: unknown flag: --root"},
	} {
		r := a.End(exec.Command(program, strings.Fields(line)...))
		if r.Code != want.code || !strings.Contains(r.Stdout, want.stdout) || !strings.Contains(r.Stderr, want.stderr) ||
			(r.Stdout == "") != (want.stdout == "") || (r.Stderr == "") != (want.stderr == "") {
			t.Errorf("%q: %+v", line, r)
		}
	}
}

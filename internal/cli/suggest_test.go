package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// TestMistyped names the command that was meant, or says where to find it.
func TestMistyped(t *testing.T) {
	for args, want := range map[string]string{
		"stauts":            `unknown command "stauts" for "skyhook"; did you mean status?`,
		"wy gpu-init":       `unknown command "wy" for "skyhook"; did you mean why?`,
		"node lst":          `unknown command "lst" for "skyhook node"; did you mean list?`,
		"node lst --bogus":  `unknown command "lst" for "skyhook node"; did you mean list?`,
		"dp rest gpu-init":  `unknown command "rest" for "skyhook deployment-policy"; did you mean reset?`,
		"package stats x":   `unknown command "stats" for "skyhook package"; did you mean status?`,
		"describe gpu-init": `unknown command "describe" for "skyhook"; skyhook --help lists those that exist`,
		"status --bogus":    "unknown flag: --bogus; skyhook status --help lists the flags",
		"why gpu --bogus":   "unknown flag: --bogus; skyhook why --help lists the flags",
	} {
		root := cli.Root("1.2.3", nil)
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("skyhook %s: %v, want %s", args, err, want)
		}
	}
}

// TestHelpFitsOnAScreen keeps what every command shares out of the help of each.
func TestHelpFitsOnAScreen(t *testing.T) {
	for _, args := range []string{"--help", "help why", "node --help", "help node status", "package rerun --help", "plan --help"} {
		root := cli.Root("1.2.3", nil)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err != nil {
			t.Error(err)
		}
		most := 30
		if args == "--help" {
			most = 80
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) > most {
			t.Errorf("skyhook %s prints %d lines", args, len(lines))
		}
		for _, line := range lines {
			if len(line) > 120 {
				t.Errorf("skyhook %s prints a line of %d columns: %s", args, len(line), line)
			}
		}
	}
}

// TestFlagValues offers the values of global flags, and those of a command that has more.
func TestFlagValues(t *testing.T) {
	for args, want := range map[string]string{
		"status -o ":         "table\nwide\njson\nyaml\nname\n:4\n",
		"inventory -o ":      "table\nwide\njson\nyaml\nname\ncsv\n:4\n",
		"reset x --dry-run=": "client\nserver\n:4\n",
	} {
		root := cli.Root("1.2.3", nil)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&bytes.Buffer{})
		root.SetArgs(append([]string{"__complete"}, strings.Split(args, " ")...))
		if err := root.Execute(); err != nil || out.String() != want {
			t.Errorf("%s: error %v, offered\n%s", args, err, out.String())
		}
	}
}

package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// TestExamples parses the examples of every command: each has one, and each is a call that the program takes.
func TestExamples(t *testing.T) {
	each(cli.Root("1.2.3", nil), func(c *cobra.Command) {
		if c.Example == "" && c.Runnable() && !c.HasSubCommands() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			call, ok := strings.CutPrefix(strings.TrimSpace(line), "kubectl skyhook ")
			if !ok {
				if line != "" && strings.Contains(c.Example, "kubectl skyhook") {
					t.Errorf("%s: the example %q does not begin with kubectl skyhook", c.CommandPath(), line)
				}
				continue
			}
			call, _, _ = strings.Cut(call, " && ")
			call, _, _ = strings.Cut(call, " # ")
			if err := parse(call); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
			}
		}
	})
}

// parse reads a call without running it.
func parse(call string) error {
	args := strings.Fields(call)
	for i := range args {
		args[i] = strings.Trim(args[i], "'")
	}
	c, rest, err := cli.Root("1.2.3", nil).Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

func each(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" && sub.Name() != "help" {
			each(sub, do)
		}
	}
}

// TestCommandCounts are those that scripts and documents know.
func TestCommandCounts(t *testing.T) {
	root := cli.Root("1.2.3", nil)
	for path, want := range map[string][]string{
		"package":           {"status", "rerun", "logs", "validate", "run", "build"},
		"node":              {"list", "status", "reset", "ignore", "unignore"},
		"deployment-policy": {"reset", "show"},
		"dp":                {"reset"},
		"":                  {"version", "pause", "resume", "disable", "enable", "reset", "completion"},
	} {
		root.InitDefaultCompletionCmd()
		for _, name := range want {
			c, _, err := root.Find(append(strings.Fields(path), name))
			if err != nil || c.Name() != name {
				t.Errorf("skyhook %s %s: found %v, error %v", path, name, c.CommandPath(), err)
			}
		}
	}
}

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// inText and inBlocks are commands of the plugin, in a sentence or on a line of their own.
var (
	inText   = regexp.MustCompile("`kubectl skyhook( [^`]+)`")
	inBlocks = regexp.MustCompile(`(?m)^(?: *|\$ )kubectl skyhook( .+)$`)
	// commandEnds is where a comment or another command begins.
	commandEnds = regexp.MustCompile(` #| &&| \||;`)
)

// TestPluginCommands: the plugin has each command that a page names, with these flags.
func TestPluginCommands(t *testing.T) {
	named := 0
	for _, page := range slices.Concat(pages(t), subpages(t)) {
		content := text(t, page)
		for _, match := range append(inText.FindAllStringSubmatch(content, -1), inBlocks.FindAllStringSubmatch(content, -1)...) {
			named++
			command := match[1]
			if end := commandEnds.FindStringIndex(command); end != nil {
				command = command[:end[0]]
			}
			if problem := wrongCommand(strings.Fields(command)); problem != "" {
				t.Errorf("%s: kubectl skyhook%s: %s", filepath.Base(page), command, problem)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d commands named", named)
	}
}

func TestWrongPluginCommands(t *testing.T) {
	for command, want := range map[string]string{
		"stop --all --reason x":  "",
		"node list -o wide":      "",
		"stopp NAME":             "no such command",
		"node stop NAME":         "no such command",
		"stop NAME --everything": "no flag --everything",
		"logs NAME -x":           "no flag -x",
	} {
		if got := wrongCommand(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// wrongCommand says what is wrong with the arguments of the plugin; nothing if they are right.
func wrongCommand(args []string) string {
	if i := slices.Index(args, "[flags]"); i >= 0 {
		args = args[:i]
	}
	c, rest, err := cli.Root("1.0.0", time.Now).Find(args)
	takesArguments := c.HasParent() && strings.Contains(c.Use, " ") && !strings.HasSuffix(c.Use, " COMMAND")
	if err != nil || len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !takesArguments {
		return "no such command"
	}
	for _, arg := range rest {
		if flag := strings.TrimRight(strings.Split(arg, "=")[0], ",.:"); strings.HasPrefix(flag, "-") && !has(c, flag) {
			return "no flag " + flag
		}
	}
	return ""
}

func has(c *cobra.Command, flag string) bool {
	c.InitDefaultHelpFlag()
	if name, long := strings.CutPrefix(flag, "--"); long {
		return c.Flag(name) != nil
	}
	name := strings.TrimPrefix(flag, "-")
	return name == "" || c.Flags().ShorthandLookup(name) != nil || c.InheritedFlags().ShorthandLookup(name) != nil
}

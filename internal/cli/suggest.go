package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/kit"
)

// knownCommand is for commands that only group others: an argument of theirs is a mistyped command.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const typos = 2
	c.SuggestionsMinimumDistance = typos
	hint := c.CommandPath() + " --help lists those that exist"
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean " + strings.Join(like, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q; %s", args[0], c.CommandPath(), hint)
}

// flagError tells of a flag that is not known. Behind a mistyped command every flag is one, and the command is told of.
func flagError(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		if wrong := c.ValidateArgs(args); wrong != nil {
			return wrong
		}
	}
	if kit.Owns(c) { // its errors end with that hint
		return err
	}
	return fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath())
}

// sayUsage has all commands say how they are written when they get too few or too many arguments: cobra only counts them.
func sayUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		sayUsage(sub)
	}
	count := c.Args
	if count == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := count(c, args)
		if err == nil || kit.Owns(c) || !strings.Contains(err.Error(), "arg(s)") {
			return err
		}
		return fmt.Errorf("%w; write %s", err, c.UseLine())
	}
}

// usageTemplate leaves the flags of all commands to the help of the program itself: they are longer than all else that
// most commands have to say. It keeps lines within a terminal.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 120 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

{{.CommandPath}} COMMAND --help says more about a command.{{end}}{{if .HasParent}}

{{.Root.CommandPath}} --help lists the flags of all commands, such as --output, --context and --namespace.{{end}}
`

package kit

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// FailedError is the error of a command that was understood and did not succeed. All other errors say that it was
// called in a wrong way.
type FailedError struct{ Err error }

func (f FailedError) Error() string { return f.Err.Error() }
func (f FailedError) Unwrap() error { return f.Err }

// ErrReported says that the command's own report has told what is wrong.
var ErrReported = errors.New("see the report")

// Command is `skyhook package`. The version is the program's own.
func Command(version string) *cobra.Command {
	c := &cobra.Command{
		Use:   "package COMMAND",
		Short: "Check, try and build packages",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine: true,
	}
	c.AddCommand(validateCommand(), runCommand(version), buildCommand())
	for _, own := range append(c.Commands(), c) {
		own.Annotations = map[string]string{ownCommand: "true"}
	}
	return c
}

// ownCommand marks the commands of this package.
const ownCommand = "kit"

// Owns reports whether a command is one of this package's, which have exit codes of their own.
func Owns(c *cobra.Command) bool { return c != nil && c.Annotations[ownCommand] != "" }

// wants is for commands with a fixed number of arguments.
func wants(number int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != number {
			return fmt.Errorf("%s wants %s, not %d arguments", c.Name(), what, len(args))
		}
		return nil
	}
}

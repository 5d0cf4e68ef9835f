// Command skyhook is for people: `skyhook package` for authors of packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/kit"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// version is set when a release is linked.
var version = "0.0.0-dev"

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// children are the processes of a trial, by the argument with which this program starts itself for them. Only Linux has
// trials.
var children map[string]func(ctx context.Context, args []string) int

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if len(args) > 0 && children[args[0]] != nil {
		return children[args[0]](ctx, args[1:])
	}
	c, err := root().ExecuteContextC(ctx)
	return report(c, err, os.Stderr)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:     "skyhook COMMAND",
		Short:   "The tools of authors of packages: skyhook package --help",
		Version: version,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
	}
	c.SetVersionTemplate("{{.Version}}\n")
	c.AddCommand(kit.Command(version), &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), version) },
	})
	return c
}

// report says how a command ended, unless it did so itself, and returns the exit code.
func report(c *cobra.Command, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, kit.ErrReported) {
		fmt.Fprintf(stderr, "ERROR: %s\n", packagefile.PrintableLines(err.Error()))
	}
	if errors.As(err, new(kit.FailedError)) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "Usage: %s\nSee %s --help.\n", c.UseLine(), c.CommandPath())
	return exitUsage
}

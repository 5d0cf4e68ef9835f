// Command skyhook is for people: administrators, as `kubectl skyhook`, and authors of packages, as `skyhook package`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/kit"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

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
	code := run(ctx, stop, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, stop func(), args []string) int {
	if len(args) > 0 && children[args[0]] != nil {
		return children[args[0]](ctx, args[1:]) // Ctrl-C reaches it from the terminal, and once more from its parent
	}
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	root := cli.Root(skyhook.Version(), time.Now)
	root.SetArgs(asCalled(root, os.Args[0], args))
	c, err := root.ExecuteContextC(ctx)
	return report(c, err, os.Stderr)
}

// asCalled goes by the name of the program: as kubectl's plugin it calls itself as its users do, and under the name by
// which kubectl asks plugins to complete a command line, it does so.
func asCalled(root *cobra.Command, program string, args []string) []string {
	program = strings.TrimSuffix(filepath.Base(program), ".exe")
	if strings.HasPrefix(program, "kubectl") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl skyhook"}
	}
	if program == "kubectl_complete-skyhook" {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return args
}

// report says how a command ended, unless it did so itself, and returns the exit code.
func report(c *cobra.Command, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	if !kit.Owns(c) { // what scripts around kubectl skyhook go by
		fmt.Fprintln(stderr, packagefile.PrintableLines(err.Error()))
		return exitFailed
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

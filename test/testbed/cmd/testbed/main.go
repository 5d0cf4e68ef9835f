//go:build linux

// Command testbed runs a real Kubernetes cluster on one Linux machine; see README.md of test/testbed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	// A command inside a node has said itself what was wrong.
	var exit *exec.ExitError
	if errors.As(err, &exit) && errors.Is(err, errInside) {
		os.Exit(exit.ExitCode())
	}
	if interrupted {
		fmt.Fprintln(os.Stderr, "testbed: interrupted; the same command continues, \"testbed down\" cleans up")
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "testbed:", err)
	os.Exit(1)
}

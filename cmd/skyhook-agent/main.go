// Command skyhook-agent runs one stage of a package on a host.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/internal/agent"
)

func main() {
	// A smaller heap for a little more work: the agent runs beside the workload of a host, and never for long.
	debug.SetGCPercent(25)
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return agent.Main(ctx, agent.Program{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Version: skyhook.Build(),
	})
}

package main

import (
	"context"
	"os"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/internal/agent"
	"github.com/skyhook-operator/skyhook/internal/kit/tryout"
)

func init() {
	children = map[string]func(ctx context.Context, args []string) int{
		tryout.InsideMode: func(ctx context.Context, _ []string) int { return tryout.Inside(ctx, os.Stderr) },
		tryout.AgentMode: func(ctx context.Context, args []string) int {
			return agent.Main(ctx, agent.Program{
				Args: args, Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Version: skyhook.Build(),
			})
		},
	}
}

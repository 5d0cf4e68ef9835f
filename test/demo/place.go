package main

import (
	"context"

	"k8s.io/client-go/rest"
)

// place is a cluster that the demo runs in.
type place interface {
	// connect makes sure that the cluster is there and returns how to reach its API.
	connect(ctx context.Context) (access, error)
	// manifest sees to it that nodes can pull the project's images, and returns install.yaml with the names that they
	// have.
	manifest(ctx context.Context) ([]byte, error)
	// onHost runs a command in the root file system of a node, as root, and returns what it prints.
	onHost(ctx context.Context, node string, argv ...string) (string, error)
	// hint says how to look at the cluster and how to remove what the demo made.
	hint() string
}

// access is how to reach a cluster.
type access struct {
	config *rest.Config
	// kubeconfig is a file, or empty for the environment's.
	kubeconfig string
	// kubectl is the program to show things with.
	kubectl string
}

//go:build !linux

// Command testbed runs a real Kubernetes cluster on one Linux machine.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "testbed: nodes are made of Linux namespaces: run this on Debian, or set KUBECONFIG to use a cluster of your own")
	os.Exit(1)
}

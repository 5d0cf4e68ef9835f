package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/test/install"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

// nodes is how many nodes the demo's own cluster has.
const nodes = 2

// local is a cluster of the testbed on this machine.
type local struct {
	root    string
	log     io.Writer
	cluster *testbed.Cluster
}

func newLocal(_ context.Context, root string, log io.Writer) (place, error) {
	return &local{root: root, log: log}, nil
}

func (l *local) connect(ctx context.Context) (access, error) {
	cluster, err := testbed.Up(ctx, testbed.Options{Nodes: nodes, Progress: l.log})
	if err != nil {
		return access{}, fmt.Errorf("bring up the cluster: %w", err)
	}
	l.cluster = cluster
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return access{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return access{config: config, kubeconfig: cluster.Kubeconfig(), kubectl: filepath.Join(cluster.Bin(), "kubectl")}, nil
}

func (l *local) manifest(ctx context.Context) ([]byte, error) {
	built, err := install.BuildImages(ctx, l.root, l.log)
	if err != nil {
		return nil, err
	}
	if err := built.Push(ctx, l.cluster); err != nil {
		return nil, err
	}
	return manifest.Install(ctx, l.root, l.log, built.Operator, built.Agent)
}

func (l *local) onHost(ctx context.Context, node string, argv ...string) (string, error) {
	out, err := l.cluster.Exec(ctx, node, argv...)
	return string(out), err
}

func (l *local) hint() string {
	return fmt.Sprintf(`The cluster keeps running. Look around:
    export KUBECONFIG=%s
    export PATH=$PATH:%s
    kubectl get skyhook demo -o yaml
The plugin, from this folder:
    go build -o bin/kubectl-skyhook ./cmd/skyhook && export PATH=$PATH:$PWD/bin
    kubectl skyhook status demo
    kubectl skyhook board demo
A shell on a host:
    go run ./test/testbed/cmd/testbed exec node1 -- bash
Take it down:
    make testbed-down`, l.cluster.Kubeconfig(), l.cluster.Bin())
}

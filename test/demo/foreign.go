package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// foreign is the cluster of the environment variable KUBECONFIG.
//
// Its nodes must be able to pull the images. DEMO_REGISTRY says where they are, if not in the public registry: the part
// of their names before "/operator" and "/agent".
type foreign struct {
	root    string
	kubectl string
	client  client.Client
}

// publicRegistry is where the images of install.yaml are.
const publicRegistry = "ghcr.io/skyhook-operator/skyhook"

func newForeign(root string) (place, error) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, errors.New("KUBECONFIG is set, but there is no kubectl in PATH to show things with: install kubectl, or unset KUBECONFIG to use the testbed")
	}
	return &foreign{root: root, kubectl: kubectl}, nil
}

func (f *foreign) connect(context.Context) (access, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return access{}, fmt.Errorf("read KUBECONFIG=%s: %w", os.Getenv("KUBECONFIG"), err)
	}
	fmt.Printf("Using the cluster at %s, because KUBECONFIG is set. Unset it to use the testbed.\n", config.Host)
	scheme, err := settings.Scheme()
	if err != nil {
		return access{}, err
	}
	if f.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return access{}, fmt.Errorf("reach the cluster at %s: %w", config.Host, err)
	}
	return access{config: config, kubectl: f.kubectl}, nil
}

func (f *foreign) manifest(ctx context.Context) ([]byte, error) {
	if os.Getenv("DEMO_HELM_ARGS") != "" {
		return nil, errors.New("the demo gives Helm no arguments any more: instead of DEMO_HELM_ARGS set DEMO_REGISTRY=registry.example/team, where operator and agent are")
	}
	text, err := manifest.Install(ctx, f.root, os.Stderr)
	if err != nil {
		return nil, err
	}
	if registry := strings.TrimSuffix(os.Getenv("DEMO_REGISTRY"), "/"); registry != "" {
		text = bytes.ReplaceAll(text, []byte(publicRegistry+"/"), []byte(registry+"/"))
	}
	return text, nil
}

func (f *foreign) onHost(ctx context.Context, node string, argv ...string) (string, error) {
	return hostPod{client: f.client, kubectl: f.kubectl}.run(ctx, node, argv)
}

func (*foreign) hint() string {
	return `Look around:
    kubectl get skyhook demo -o yaml
Remove everything:
    kubectl delete skyhook demo
    kubectl get skyhooks                        # none is left: the next command would delete it
    kubectl delete -f dist/install.yaml`
}

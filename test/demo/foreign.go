package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/operator"
)

// foreign is the cluster of the environment variable KUBECONFIG.
//
// Its nodes must be able to pull the images. DEMO_HELM_ARGS has further arguments for Helm, separated by spaces, to say
// where they are, such as "--set controllerManager.manager.image.repository=registry.example/operator".
type foreign struct {
	kubectl string
	client  client.Client
}

func newForeign() (place, error) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, errors.New("KUBECONFIG is set, but there is no kubectl in PATH to show things with: install kubectl, or unset KUBECONFIG to use the testbed")
	}
	return &foreign{kubectl: kubectl}, nil
}

func (f *foreign) connect(context.Context) (access, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return access{}, fmt.Errorf("read KUBECONFIG=%s: %w", os.Getenv("KUBECONFIG"), err)
	}
	fmt.Printf("Using the cluster at %s, because KUBECONFIG is set. Unset it to use the testbed.\n", config.Host)
	scheme, err := operator.Scheme()
	if err != nil {
		return access{}, err
	}
	if f.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return access{}, fmt.Errorf("reach the cluster at %s: %w", config.Host, err)
	}
	return access{config: config, kubectl: f.kubectl}, nil
}

func (*foreign) images(context.Context) ([]string, error) {
	return strings.Fields(os.Getenv("DEMO_HELM_ARGS")), nil
}

func (f *foreign) onHost(ctx context.Context, node string, argv ...string) (string, error) {
	return hostPod{client: f.client, kubectl: f.kubectl}.run(ctx, node, argv)
}

func (*foreign) hint() string {
	return `Look around:
    kubectl get skyhook demo -o yaml
Remove everything:
    kubectl delete skyhook demo
    helm uninstall skyhook --namespace skyhook
    kubectl delete crd skyhooks.skyhook.nvidia.com deploymentpolicies.skyhook.nvidia.com`
}

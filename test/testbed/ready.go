//go:build linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const pollStep = 50 * time.Millisecond

// poll asks done until it is true. When ctx ends, the error says what was still missing.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for %s: %w", what, ctx.Err()), err)
		case <-time.After(pollStep):
		}
	}
}

func client(kubeconfig string) (*kubernetes.Clientset, error) {
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	c.Timeout = 5 * time.Second
	c.UserAgent = "testbed"
	return kubernetes.NewForConfig(c)
}

// waitAPI returns when the API server says that it is ready.
func waitAPI(ctx context.Context, kubeconfig string) error {
	c, err := client(kubeconfig)
	if err != nil {
		return err
	}
	return poll(ctx, "the API server", func() (bool, error) {
		_, err := c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, err
	})
}

// waitNodes returns when pods can be created and run on all these nodes and no others exist.
func waitNodes(ctx context.Context, c kubernetes.Interface, numbers []int) error {
	err := poll(ctx, "the default service account", func() (bool, error) {
		_, err := c.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	})
	if err != nil {
		return err
	}
	return poll(ctx, fmt.Sprintf("%d ready nodes", len(numbers)), func() (bool, error) {
		list, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		missing := notReady(list.Items)
		return missing == nil && len(list.Items) == len(numbers), missing
	})
}

// waitNode returns when pods can run on a node, whatever the others do.
func waitNode(ctx context.Context, c kubernetes.Interface, name string) error {
	return poll(ctx, name+" to be ready", func() (bool, error) {
		n, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return usable(n), errors.New(readyCondition(n).Message)
	})
}

// usable is true for a node that is Ready and that the controllers have found to be so.
func usable(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.kubernetes.io/not-ready") ||
			strings.HasPrefix(t.Key, "node.kubernetes.io/unreachable") {
			return false
		}
	}
	return readyCondition(n).Status == corev1.ConditionTrue
}

func readyCondition(n *corev1.Node) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{Message: "the kubelet has not reported yet"}
}

func notReady(nodes []corev1.Node) error {
	var errs []error
	for i := range nodes {
		if !usable(&nodes[i]) {
			errs = append(errs, fmt.Errorf("%s: %s", nodes[i].Name, readyCondition(&nodes[i]).Message))
		}
	}
	return errors.Join(errs...)
}

// waitRebooted returns when the API shows the node as ready in its life bootID.
func waitRebooted(ctx context.Context, c kubernetes.Interface, name, bootID string) error {
	return poll(ctx, name+" to be ready after its reboot", func() (bool, error) {
		n, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return n.Status.NodeInfo.BootID == bootID && usable(n), errors.New(readyCondition(n).Message)
	})
}

// deleteNode removes the node's object; one that never registered has none.
func deleteNode(ctx context.Context, c kubernetes.Interface, name string) error {
	err := c.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

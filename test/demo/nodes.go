package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// demoLabel is what examples/demo.yaml selects nodes by.
	demoLabel = "skyhook.nvidia.com/test-node"
	demoValue = "demo"
	// maxNodes bounds what the demo changes in a cluster that is not its own.
	maxNodes = 2
)

// chooseNodes labels the nodes that the demo may change: those that DEMO_NODES names (separated by commas), else the
// first two that are ready and take workloads. Labels of an earlier run on other nodes are removed.
func (d *demo) chooseNodes(ctx context.Context) error {
	var list corev1.NodeList
	if err := d.client.List(ctx, &list); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	names, err := choose(list.Items, os.Getenv("DEMO_NODES"))
	if err != nil {
		return err
	}
	d.nodes = names
	for i := range list.Items {
		node := &list.Items[i]
		chosen := slices.Contains(names, node.Name)
		if (node.Labels[demoLabel] == demoValue) == chosen {
			continue
		}
		before := node.DeepCopy()
		if chosen {
			metav1.SetMetaDataLabel(&node.ObjectMeta, demoLabel, demoValue)
		} else {
			delete(node.Labels, demoLabel)
		}
		if err := d.client.Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("label node %s: %w", node.Name, err)
		}
	}
	d.out.line("label %s=%s is on %s", demoLabel, demoValue, strings.Join(names, " and "))
	return nil
}

// choose returns the names of the nodes to work on, sorted.
func choose(nodes []corev1.Node, wanted string) ([]string, error) {
	var names []string
	for i := range nodes {
		if usable(&nodes[i]) {
			names = append(names, nodes[i].Name)
		}
	}
	slices.Sort(names)
	if wanted == "" {
		if len(names) == 0 {
			return nil, errors.New("the cluster has no node that is ready and takes workloads")
		}
		return names[:min(len(names), maxNodes)], nil
	}
	chosen := strings.Split(wanted, ",")
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("DEMO_NODES names node %q, which does not exist, is not ready or takes no workloads", name)
		}
	}
	slices.Sort(chosen)
	return chosen, nil
}

func usable(node *corev1.Node) bool {
	if _, controlPlane := node.Labels["node-role.kubernetes.io/control-plane"]; controlPlane || node.Spec.Unschedulable {
		return false
	}
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

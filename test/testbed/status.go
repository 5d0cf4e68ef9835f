//go:build linux

package testbed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeStatus is what can be seen of a node at a moment.
type NodeStatus struct {
	Name    string
	Address string
	PID     int    // of its systemd, on this machine; 0 when the node is off
	BootID  string // as its kubelet last reported
	Ready   bool   // Ready, as the API shows it
}

// Status describes every node the cluster should have.
func (c *Cluster) Status(ctx context.Context) ([]NodeStatus, error) {
	cs, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := cs.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []NodeStatus
	for _, number := range c.state().Nodes {
		s := NodeStatus{Name: nodeName(number), Address: nodeIP(number), PID: c.group.child(nodeName(number)).firstProcess()}
		for i := range list.Items {
			if n := &list.Items[i]; n.Name == s.Name {
				s.BootID, s.Ready = n.Status.NodeInfo.BootID, usable(n)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

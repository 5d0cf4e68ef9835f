//go:build linux

package testbed

import "fmt"

// Addresses of the isolated network. Nothing outside it can reach them, so clusters on one machine share them.
const (
	gatewayIP    = "10.200.0.1" // control plane and registry, also the nodes' default route
	networkBits  = 16
	podCIDR      = "10.244.0.0/16"
	serviceCIDR  = "10.96.0.0/16"
	kubernetesIP = "10.96.0.1" // the first of serviceCIDR is the API's own service
	clusterDNSIP = "10.96.0.10"
	apiPort      = 6443
	registryPort = 5000
)

func nodeIP(n int) string      { return fmt.Sprintf("10.200.1.%d", n) }
func nodePodCIDR(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }

// newNetwork makes the control plane's namespace: a bridge for the nodes, no uplink.
func newNetwork() (*netns, error) {
	n, err := newNetns()
	if err != nil {
		return nil, err
	}
	err = n.ip("link set lo up",
		"link add br0 type bridge",
		fmt.Sprintf("addr add %s/%d dev br0", gatewayIP, networkBits),
		"link set br0 up")
	if err == nil {
		err = n.sysctl("ipv4/ip_forward", "1")
	}
	if err != nil {
		closeQuietly(n.file)
		return nil, fmt.Errorf("control plane network: %w", err)
	}
	return n, nil
}

// attachNode makes node number i's namespace, with its link to the bridge and the route to its pods. The route is what
// lets the API server reach webhooks that pods serve.
func attachNode(network *netns, i int) (*netns, error) {
	n, err := newNetns()
	if err != nil {
		return nil, err
	}
	err = n.ip("link set lo up",
		fmt.Sprintf("link add eth0 type veth peer name %s netns %s", vethName(i), network.path()),
		fmt.Sprintf("addr add %s/%d dev eth0", nodeIP(i), networkBits),
		"link set eth0 up",
		"route add default via "+gatewayIP)
	if err == nil {
		err = n.sysctl("ipv4/ip_forward", "1")
	}
	if err == nil {
		err = network.ip(fmt.Sprintf("link set %s master br0 up", vethName(i)),
			fmt.Sprintf("route replace %s via %s", nodePodCIDR(i), nodeIP(i)))
	}
	if err != nil {
		closeQuietly(n.file)
		return nil, fmt.Errorf("network of node %d: %w", i, err)
	}
	return n, nil
}

// detachNode removes the node's link at once; the route goes with the node's address only, so it is removed by name.
func detachNode(network *netns, i int) error {
	return network.ip("link del "+vethName(i), "route del "+nodePodCIDR(i))
}

func vethName(i int) string { return fmt.Sprintf("veth%d", i) }

//go:build linux

package testbed

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

//go:embed nodefiles
var nodeFiles embed.FS

// pauseImage holds a pod's namespaces. Like every image it comes from the testbed's registry.
const pauseImage = "skyhook.testbed/pause:1"

// Folders of a node that are mounted into its root file system, or that make it up.
const (
	dirUpper      = "upper"      // what differs from the shared root file system
	dirWork       = "work"       // overlay's own
	dirMerged     = "merged"     // mount point, only ever used inside the node's mount namespace
	dirContainerd = "containerd" // /var/lib/containerd: overlays cannot be stacked on an overlay
	dirKubelet    = "kubelet"    // /var/lib/kubelet
)

// nodeConfig is everything the files of a node depend on.
type nodeConfig struct {
	Name, IP, PodCIDR, ClusterPodCIDR, ClusterDNS, Registry, PauseImage string
	// Labels and Taints are as the kubelet's flags take them.
	Labels, Taints string
}

func nodeName(n int) string { return "node" + strconv.Itoa(n) }

func newNodeConfig(n int, join Join) nodeConfig {
	return nodeConfig{
		Labels: strings.Join(join.Labels, ","), Taints: strings.Join(join.Taints, ","),
		Name: nodeName(n), IP: nodeIP(n), PodCIDR: nodePodCIDR(n), ClusterPodCIDR: podCIDR, ClusterDNS: clusterDNSIP,
		Registry: net.JoinHostPort(gatewayIP, strconv.Itoa(registryPort)), PauseImage: pauseImage,
	}
}

// renderedFiles says which template becomes which file on the node.
var renderedFiles = map[string]string{
	"containerd.service": "etc/systemd/system/containerd.service",
	"kubelet.service":    "etc/systemd/system/kubelet.service",
	"kube-proxy.service": "etc/systemd/system/kube-proxy.service",
	"system.conf":        "etc/systemd/system.conf.d/testbed.conf",
	"journald.conf":      "etc/systemd/journald.conf.d/testbed.conf",
	"kubelet.yaml":       "etc/kubernetes/kubelet.yaml",
	"kube-proxy.yaml":    "etc/kubernetes/kube-proxy.yaml",
	"containerd.toml":    "etc/containerd/config.toml",
	"hosts.toml":         "etc/containerd/certs.d/_default/hosts.toml",
	"cni.conflist":       "etc/cni/net.d/10-pods.conflist",
	"hosts":              "etc/hosts",
}

// enabledUnits start with the node; maskedUnits are for hardware, logins or time, which a node of namespaces has not.
var (
	enabledUnits = []string{"containerd.service", "kubelet.service", "kube-proxy.service"}
	maskedUnits  = []string{
		"apt-daily-upgrade.timer", "apt-daily.timer", "console-getty.service", "dpkg-db-backup.timer", "e2scrub_all.timer",
		"e2scrub_reap.service", "fstrim.timer", "getty.target", "systemd-logind.service", "systemd-modules-load.service",
		"systemd-networkd.service", "systemd-random-seed.service", "systemd-remount-fs.service", "systemd-resolved.service",
		"systemd-timesyncd.service", "systemd-udev-trigger.service", "systemd-udevd-control.socket",
		"systemd-udevd-kernel.socket", "systemd-udevd.service",
	}
)

// render fills one template of nodefiles.
func (c nodeConfig) render(name string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(nodeFiles, "nodefiles/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, c)
	return b.Bytes(), err
}

// writeNodeFiles fills a new node's folder with all that makes it this node of this cluster.
func writeNodeFiles(dir string, c nodeConfig, ca *authority) error {
	for _, d := range []string{dirUpper, dirWork, dirMerged, dirContainerd, dirKubelet} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	root := filepath.Join(dir, dirUpper)
	for name, dst := range renderedFiles {
		b, err := c.render(name)
		if err != nil {
			return err
		}
		if err := writeBelow(root, dst, b); err != nil {
			return err
		}
	}
	if err := writeIdentity(root, c); err != nil {
		return err
	}
	if err := writeUnitLinks(root); err != nil {
		return err
	}
	return writeNodeKeys(root, c, ca)
}

func writeIdentity(root string, c nodeConfig) error {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	files := map[string]string{
		"etc/hostname":               c.Name + "\n",
		"etc/machine-id":             hex.EncodeToString(id) + "\n",
		"etc/kubernetes/resolv.conf": "",
	}
	for f, v := range files {
		if err := writeBelow(root, f, []byte(v)); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(root, "var", "log", "journal"), 0o755)
}

// writeUnitLinks does what "systemctl enable, mask, set-default" do.
func writeUnitLinks(root string) error {
	dir := filepath.Join(root, "etc", "systemd", "system")
	links := map[string]string{"default.target": "/lib/systemd/system/multi-user.target"}
	for _, u := range enabledUnits {
		links["multi-user.target.wants/"+u] = "/etc/systemd/system/" + u
	}
	for _, u := range maskedUnits {
		links[u] = "/dev/null"
	}
	for name, target := range links {
		link := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	return nil
}

func writeNodeKeys(root string, c nodeConfig, ca *authority) error {
	dir := filepath.Join(root, "etc", "kubernetes")
	user := subject{User: "system:node:" + c.Name, Groups: []string{"system:nodes"}, Hosts: []string{c.IP, c.Name}}
	pair, err := ca.issue(user)
	if err != nil {
		return err
	}
	if err := pair.write(dir, "node"); err != nil {
		return err
	}
	if err := writeBelow(dir, "ca.crt", ca.pair.Cert); err != nil {
		return err
	}
	server := fmt.Sprintf("https://%s:%d", gatewayIP, apiPort)
	if err := writeKubeconfig(filepath.Join(dir, "kubelet.kubeconfig"), ca, server, user); err != nil {
		return err
	}
	return writeKubeconfig(filepath.Join(dir, "kube-proxy.kubeconfig"), ca, server, subject{User: "system:kube-proxy"})
}

func writeBelow(root, name string, content []byte) error {
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

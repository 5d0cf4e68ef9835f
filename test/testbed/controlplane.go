//go:build linux

package testbed

import (
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy logs every write to the API once, by its metadata: tests count writes per user agent from it. Of programs
// in pods it has what they read as well, a watch already when it begins: tests compare that with what they may do.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  verbs: [get, list, watch]
  userGroups: ["system:serviceaccounts"]
- level: None
  verbs: [get, list, watch]
- level: Metadata
  omitStages: [ResponseStarted]
`

// controlPlane knows the folders of one cluster's control plane and renders what its programs need.
type controlPlane struct {
	bin   string // folder of the programs
	state string // the cluster's state folder
}

func (c controlPlane) pki(file string) string { return filepath.Join(c.state, "pki", file) }

// writeFiles makes certificates, client configurations and the audit policy of a new cluster, and drops the audit log of
// the one before. admin is the client configuration for use
// from outside; its server is the forwarded address hostServer.
func (c controlPlane) writeFiles(ca *authority, hostServer string) error {
	for _, dir := range []string{"pki", "log", "etcd"} {
		if err := os.MkdirAll(filepath.Join(c.state, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(auditLog(c.state)); err != nil {
		return err
	}
	if err := c.writeKeys(ca); err != nil {
		return err
	}
	inside := fmt.Sprintf("https://127.0.0.1:%d", apiPort)
	clients := []struct {
		file, server string
		user         subject
	}{
		{"kubeconfig", hostServer, subject{User: "admin", Groups: []string{"system:masters"}}},
		{"pki/controller-manager.kubeconfig", inside, subject{User: "system:kube-controller-manager"}},
		{"pki/scheduler.kubeconfig", inside, subject{User: "system:kube-scheduler"}},
	}
	for _, k := range clients {
		if err := writeKubeconfig(filepath.Join(c.state, k.file), ca, k.server, k.user); err != nil {
			return err
		}
	}
	return os.WriteFile(c.pki("audit-policy.yaml"), []byte(auditPolicy), 0o600)
}

func (c controlPlane) writeKeys(ca *authority) error {
	dir := filepath.Join(c.state, "pki")
	if err := ca.pair.write(dir, "ca"); err != nil {
		return err
	}
	sa, err := serviceAccountKey()
	if err != nil {
		return err
	}
	if err := sa.write(dir, "sa"); err != nil {
		return err
	}
	for name, s := range map[string]subject{
		"apiserver":      {User: "kube-apiserver", Hosts: []string{"127.0.0.1", kubernetesIP, gatewayIP, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}},
		"kubelet-client": {User: "system:kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
	} {
		pair, err := ca.issue(s)
		if err != nil {
			return err
		}
		if err := pair.write(dir, name); err != nil {
			return err
		}
	}
	return nil
}

func writeKubeconfig(file string, ca *authority, server string, user subject) error {
	pair, err := ca.issue(user)
	if err != nil {
		return err
	}
	b, err := kubeconfig(server, ca.pair.Cert, pair)
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o600)
}

func (c controlPlane) etcd() []string {
	return []string{
		filepath.Join(c.bin, "etcd"),
		"--data-dir=" + filepath.Join(c.state, "etcd"),
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--unsafe-no-fsync", // the data need not survive the machine
		"--log-level=warn",
	}
}

func (c controlPlane) apiServer() []string {
	return []string{
		filepath.Join(c.bin, "kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379",
		fmt.Sprintf("--secure-port=%d", apiPort), "--bind-address=0.0.0.0", "--advertise-address=" + gatewayIP,
		"--shutdown-delay-duration=0s",
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("sa.crt"), "--service-account-signing-key-file=" + c.pki("sa.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--kubelet-client-certificate=" + c.pki("kubelet-client.crt"), "--kubelet-client-key=" + c.pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		// No kube-proxy runs beside the API server: webhooks are called at the addresses of their pods.
		"--enable-aggregator-routing=true",
		"--audit-policy-file=" + c.pki("audit-policy.yaml"),
		// One file for the life of a cluster: whoever reads it would miss what was moved away.
		"--audit-log-path=" + auditLog(c.state), "--audit-log-maxsize=4096",
	}
}

func (c controlPlane) controllerManager() []string {
	k := c.pki("controller-manager.kubeconfig")
	return []string{
		filepath.Join(c.bin, "kube-controller-manager"),
		"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--use-service-account-credentials",
		"--service-account-private-key-file=" + c.pki("sa.key"), "--root-ca-file=" + c.pki("ca.crt"),
		"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key"),
	}
}

func (c controlPlane) scheduler() []string {
	k := c.pki("scheduler.kubeconfig")
	return []string{
		filepath.Join(c.bin, "kube-scheduler"),
		"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
		"--leader-elect=false", "--bind-address=127.0.0.1",
	}
}

func auditLog(state string) string { return filepath.Join(state, "log", "audit.log") }

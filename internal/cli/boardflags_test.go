package cli

import (
	"net"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// TestForwarded: whoever came from elsewhere is told how a browser there gets here.
func TestForwarded(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	t.Setenv("SSH_CONNECTION", "")
	if got := forwarded(at); got != "" {
		t.Errorf("without SSH: %q", got)
	}
	t.Setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
	if got := forwarded(at); !strings.HasSuffix(got, "\n  ssh -N -L 8080:127.0.0.1:8080 HOST\n") {
		t.Errorf("over SSH: %q", got)
	}
}

// TestClusterFlags: a command that is copied goes to the cluster of the command that prints it.
func TestClusterFlags(t *testing.T) {
	name := func(s string) *string { return &s }
	flags := &genericclioptions.ConfigFlags{
		KubeConfig: name("/home/on call/config"), ClusterName: name("gpu"), APIServer: name("https://192.0.2.1:6443"), AuthInfoName: name("it's me"),
	}
	const want = `kubectl skyhook why gpu --kubeconfig '/home/on call/config' --context admin@gpu --cluster gpu ` +
		`--server https://192.0.2.1:6443 --user 'it'\''s me'`
	to := target{defaultNamespace, clusterFlags(flags, "admin@gpu")}
	if got := to.toCluster("kubectl skyhook why gpu"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	flags.Context = name("staging")
	if got := clusterFlags(flags, "admin@gpu"); !strings.Contains(got, "--context staging") {
		t.Errorf("got %s", got)
	}
}

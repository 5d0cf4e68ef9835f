//go:build integration

package board

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/apiserver"
	"github.com/skyhook-operator/skyhook/test/inputs"
)

var update = flag.Bool("update", false, "write the pictures of the documentation")

// folder has the plugin, which all tests share.
var folder string

func TestMain(m *testing.M) {
	apiserver.Main(m, func(string) error { return os.RemoveAll(folder) })
}

// plugin builds kubectl-skyhook once.
var plugin = sync.OnceValues(func() (string, error) {
	var err error
	if folder, err = os.MkdirTemp("", "board"); err != nil {
		return "", err
	}
	program := filepath.Join(folder, "kubectl-skyhook")
	return program, inputs.Build("../../cmd/skyhook", program)
})

// tool runs a script of tools/, which prints a path.
func tool(name string, args ...string) (string, error) {
	script := "../../tools/" + name
	if err := inputs.Files(script); err != nil {
		return "", err
	}
	cmd := exec.Command(script, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tools/%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// namespace is the operator's.
const namespace = "skyhook"

// cluster is an API server, and a kubeconfig for it whose context is called as in the documentation.
type cluster struct {
	client.Client
	kubeconfig string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	config := apiserver.Start(t)
	config.QPS = -1
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(c.kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	c.operator(t)
	return c
}

// operator puts the Deployment of an operator that is ready, without which every page warns. It stays for all tests.
func (c cluster) operator(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "skyhook-operator"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "skyhook-operator", Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "registry.example/skyhook/operator:1"}}},
			},
		},
	}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, d} {
		if err := c.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	c.ready(t, 1)
}

// ready says how many replicas of the operator are.
func (c cluster) ready(t *testing.T, replicas int32) {
	t.Helper()
	ctx, d := context.Background(), &appsv1.Deployment{} // also when the test is over
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "skyhook-operator"}, d); err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas, d.Status.ReadyReplicas = 1, replicas
	if err := c.Status().Update(ctx, d); err != nil {
		t.Fatal(err)
	}
}

func writeKubeconfig(file string, config *rest.Config) error {
	const name = "production"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	return clientcmd.WriteToFile(*out, file)
}

// board starts the command and returns the address that it prints.
func (c cluster) board(t *testing.T, args ...string) string {
	t.Helper()
	program, err := plugin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, append([]string{"board"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "http://"); ok {
			return "http://" + strings.TrimSpace(address)
		}
	}
	t.Fatalf("the board ended without an address: %v", lines.Err())
	return ""
}

//go:build integration

package cli_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

var update = flag.Bool("update", false, "write the golden files")

// asProgram is the environment variable with the command line that the test binary carries out instead of tests: what a
// signal does to a program needs one.
const asProgram = "CLI_TEST_COMMAND"

func TestMain(m *testing.M) {
	if line := os.Getenv(asProgram); line != "" {
		root := cli.Root("1.2.3", func() time.Time { return today })
		root.SetArgs(strings.Fields(line))
		if root.ExecuteContext(context.Background()) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	apiserver.Main(m)
}

// cluster is a real API server without an operator: what the tests put there is all there is.
type cluster struct {
	t *testing.T
	client.Client
	kubeconfig string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	config := apiserver.Start(t)
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t}
	c.use(filepath.Join(t.TempDir(), "kubeconfig"))
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	writeKubeconfig(t, c.kubeconfig, config)
	return c
}

// use makes a file the kubeconfig of the commands: by the environment, as a flag would be in every command that is printed.
func (c *cluster) use(kubeconfig string) {
	c.kubeconfig = kubeconfig
	c.t.Setenv("KUBECONFIG", kubeconfig)
}

func writeKubeconfig(t *testing.T, file string, config *rest.Config) {
	t.Helper()
	out := clientcmdapi.NewConfig()
	out.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	out.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	out.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*out, file); err != nil {
		t.Fatal(err)
	}
}

// put creates an object with its status, and removes it after the test.
func (c *cluster) put(o client.Object) {
	c.t.Helper()
	want := o.DeepCopyObject().(client.Object)
	if err := c.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.Delete(context.Background(), o, client.GracePeriodSeconds(0)) })
	want.SetResourceVersion(o.GetResourceVersion())
	want.SetUID(o.GetUID())
	if err := c.Status().Update(c.t.Context(), want); client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
}

var today = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// run runs a command line as a user would, with the answer to its question, and returns what it printed and how it ended.
func (c *cluster) run(answer string, args ...string) (stdout, stderr string, err error) {
	c.t.Helper()
	var out, errs bytes.Buffer
	err = c.runTo(&out, &errs, answer, args...)
	return out.String(), errs.String(), err
}

// runTo is run with writers for what is printed.
func (c *cluster) runTo(out, errs io.Writer, answer string, args ...string) error {
	return c.start(strings.NewReader(answer), out, errs, args...)
}

// runFrom is run with a reader for the answer.
func (c *cluster) runFrom(answer io.Reader, args ...string) error {
	return c.start(answer, io.Discard, io.Discard, args...)
}

func (c *cluster) start(in io.Reader, out, errs io.Writer, args ...string) error {
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetArgs(args)
	return root.ExecuteContext(c.t.Context())
}

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got); if that is meant: make integration DIR=internal/cli UPDATE=1 && git diff internal/cli\n%s", file, d)
	}
}

func newNode(name string, annotations map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "gpu"}, Annotations: annotations}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{BootID: "boot-" + name, Architecture: "amd64"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

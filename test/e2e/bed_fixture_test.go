//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/build/cachedir"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/install"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

const (
	root = "../.."
	// operatorNodes of the shared cluster are the operator's alone, so that tests may reboot and break all others.
	operatorNodes = 1
	// testNodes of the shared cluster are those that tests share out. Two processors starve with six, beside the other
	// cluster: tests then fail for want of time.
	testNodes = 4
	// nodeCount is how many nodes most tests ask for, and the size of the other cluster.
	nodeCount = 3
	// reserved is the label and the taint of the operator's nodes.
	reserved = "skyhook-e2e"
)

// bed is a cluster with the operator installed. It starts when the first test asks for it.
type bed struct {
	*testbed.Cluster
	client client.WithWatch
	// nodes wanted, and which of them are the operator's alone.
	nodes, operators int
	// state is what the cluster's folder is called beyond the suite's.
	state string
	// auditFrom is where the audit log of this run begins: the file may be older.
	auditFrom int64
	// chart are Helm's arguments for the images of this build.
	chart []string
	// uninstalled is the part of the audit log in which the chart was not installed, or only in part.
	uninstalled struct{ from, to int64 }
	// busybox pushes the image of the workloads once.
	busybox func() error

	once   sync.Once
	failed error
}

var (
	// shared is for tests that have nodes of their own, side by side; alone is for those that need the operator for
	// themselves: they stop it, set it up differently, or look at all that it does. Both are at work at the same time.
	shared = &bed{nodes: operatorNodes + testNodes, operators: operatorNodes}
	alone  = &bed{nodes: nodeCount, state: "-alone"}

	buildImages = sync.OnceValues(func() (install.Images, error) {
		folder, err := filepath.Abs(root)
		if err != nil {
			return install.Images{}, err
		}
		return install.BuildImages(interrupted, folder, os.Stderr)
	})
)

// up starts the cluster, or waits until it is there.
func (b *bed) up() error {
	b.once.Do(func() {
		if b.failed = b.setUp(interrupted); b.failed != nil {
			b.failed = fmt.Errorf("set up: %w", b.failed)
		}
	})
	return b.failed
}

func (b *bed) setUp(ctx context.Context) (err error) {
	if b.Cluster, err = testbed.Up(ctx, b.options()); err != nil {
		return err
	}
	b.auditFrom = b.auditSize()
	b.busybox = sync.OnceValue(b.pushBusybox)
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	scheme, err := settings.Scheme()
	if err != nil {
		return err
	}
	if b.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return b.installOperator(ctx)
}

// options put a cluster into a folder of its own, beside the demo's, unless TESTBED_STATE names one.
func (b *bed) options() testbed.Options {
	o := testbed.Options{Nodes: b.nodes, Progress: os.Stderr, State: os.Getenv("TESTBED_STATE")}
	if cache, err := cachedir.Path(); o.State == "" && err == nil {
		o.State = filepath.Join(cache, "testbed-e2e")
	}
	o.State += b.state
	return o
}

// auditSize is where the audit log ends now.
func (b *bed) auditSize() int64 {
	info, err := os.Stat(b.AuditLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

func (b *bed) installOperator(ctx context.Context) error {
	images, err := buildImages()
	if err != nil {
		return err
	}
	if err := images.Push(ctx, b.Cluster); err != nil {
		return err
	}
	b.chart = images.ChartArgs()
	if b.operators > 0 {
		b.chart = append(b.chart,
			"--set-json", `controllerManager.selectors={"`+reserved+`": "operator"}`,
			"--set-json", `controllerManager.tolerations=[{"key": "`+reserved+`", "operator": "Exists"}]`)
	}
	for _, node := range b.Nodes()[:b.operators] {
		for _, args := range [][]string{
			{"label", "node", node, "--overwrite", reserved + "=operator"},
			{"taint", "node", node, "--overwrite", reserved + "=operator:NoSchedule"},
		} {
			if out, err := b.kubectl(ctx, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
	return b.installChart(ctx)
}

// installChart installs the operator, or brings it back to how the suite expects it.
func (b *bed) installChart(ctx context.Context) error {
	if err := install.Chart(ctx, b.client, root, b.Kubeconfig(), b.chart...); err != nil {
		return err
	}
	return install.Available(ctx, b.client, 2*time.Minute)
}

// pushBusybox gives the registry the image of the workloads, made of the nodes' own busybox.
func (b *bed) pushBusybox() error {
	image, err := testbed.ProgramImage(map[string]string{"bin/busybox": filepath.Join(b.Rootfs(), "bin", "busybox")}, "/bin/busybox")
	if err != nil {
		return err
	}
	return b.Push(context.Background(), image, busybox)
}

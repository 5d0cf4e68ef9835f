//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/install"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

const (
	root = "../.."
	// nodeCount of the suite's cluster.
	nodeCount = 3
)

// bed is the cluster that all tests of the suite share, with the operator installed.
var bed struct {
	*testbed.Cluster
	client client.WithWatch
	// auditFrom is where the audit log of this run begins: the file may be older.
	auditFrom int64
	// chart are Helm's arguments for the images of this build.
	chart []string
	// uninstalled is the part of the audit log in which the chart was not installed, or only in part.
	uninstalled struct{ from, to int64 }
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == asPlugin {
		if err := cli.Root("1.0.0", time.Now).Execute(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Parallel tests have a node each and mostly wait for it. What the command line says wins.
	if err := flag.Set("test.parallel", strconv.Itoa(nodeCount)); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 1
	if err := setUp(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: set up:", err)
	} else {
		code = m.Run()
		if err := checkPermissions(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = max(code, 1)
		}
	}
	stop()
	if os.Getenv("E2E_KEEP") == "" { // set it to look around afterwards
		if err := testbed.Down(context.Background(), options()); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: take down the cluster:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// options put the suite's cluster into a folder of its own, beside the demo's, unless TESTBED_STATE names one.
func options() testbed.Options {
	o := testbed.Options{Nodes: nodeCount, Progress: os.Stderr, State: os.Getenv("TESTBED_STATE")}
	if cache := os.Getenv("SKYHOOK_CACHE"); o.State == "" && cache != "" {
		o.State = filepath.Join(cache, "testbed-e2e")
	} else if cache, err := os.UserCacheDir(); o.State == "" && err == nil {
		o.State = filepath.Join(cache, "skyhook", "testbed-e2e")
	}
	return o
}

func setUp(ctx context.Context) error {
	cluster, err := testbed.Up(ctx, options())
	if err != nil {
		return err
	}
	bed.Cluster = cluster
	bed.auditFrom = auditSize()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	scheme, err := settings.Scheme()
	if err != nil {
		return err
	}
	if bed.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return installOperator(ctx)
}

// auditSize is where the audit log ends now.
func auditSize() int64 {
	info, err := os.Stat(bed.AuditLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

func installOperator(ctx context.Context) error {
	folder, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	images, err := install.BuildImages(ctx, folder, os.Stderr)
	if err != nil {
		return err
	}
	if err := images.Push(ctx, bed.Cluster); err != nil {
		return err
	}
	bed.chart = images.ChartArgs()
	return installChart(ctx)
}

// installChart installs the operator, or brings it back to how the suite expects it.
func installChart(ctx context.Context) error {
	if err := install.Chart(ctx, bed.client, root, bed.Kubeconfig(), bed.chart...); err != nil {
		return err
	}
	return install.Available(ctx, bed.client, 2*time.Minute)
}

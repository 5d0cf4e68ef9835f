//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

// interrupted ends when somebody interrupts the run.
var interrupted = context.Background()

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == asPlugin {
		if err := cli.Root("1.0.0", time.Now).Execute(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// How many tests are at work is a matter of the nodes that there are. What the command line says wins.
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	var stop context.CancelFunc
	signal.Ignore(syscall.SIGPIPE) // whoever reads may have ended, and the clusters are to be taken down nevertheless
	interrupted, stop = signal.NotifyContext(interrupted, os.Interrupt, syscall.SIGTERM)
	code := m.Run()
	if err := checkPermissions(interrupted); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	stop()
	if os.Getenv("E2E_KEEP") == "" { // set it to look around afterwards
		if err := takeDown(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: take down the clusters:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// takeDown ends both clusters, also one that an earlier run left.
func takeDown() error {
	ended := make(chan error)
	for _, b := range []*bed{shared, alone} {
		go func() { ended <- testbed.Down(context.Background(), b.options()) }()
	}
	return errors.Join(<-ended, <-ended)
}

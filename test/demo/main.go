// Command demo shows the project at work: it brings up a cluster, installs the operator, applies examples/demo.yaml to
// two nodes, tells what happens on them, and ends with what the package left there. It may be stopped and run again at
// any moment.
//
// With KUBECONFIG set it uses that cluster instead; see the type foreign.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case interrupted:
		fmt.Fprintln(os.Stderr, "demo: interrupted; \"make demo\" goes on from here, \"make testbed-down\" cleans up")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	d := &demo{root: root, out: newOutput(os.Stdout)}
	if os.Getenv("KUBECONFIG") != "" {
		d.place, err = newForeign(root)
	} else {
		d.place, err = newLocal(ctx, root, d.out)
	}
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// repository is the root of the module that this program is run from.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("run this from within the repository: make demo")
	}
	return filepath.Dir(file), nil
}

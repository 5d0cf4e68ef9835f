package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/go-logr/logr"

	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/install"
)

const (
	// interval is how often the demo looks at the cluster while it waits.
	interval = 200 * time.Millisecond
	// operatorPatience is how long the operator may take to start, its image's download included.
	operatorPatience = 3 * time.Minute
	// installFile is the rendered chart, in the repository.
	installFile = "dist/install.yaml"
)

// demo is one run.
type demo struct {
	root   string
	out    *output
	place  place
	access access
	client client.Client
	nodes  []string
}

// run takes the steps in order. Each finds and replaces what an earlier run, complete or not, left of it.
func (d *demo) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.connect, d.install, d.chooseNodes, d.reset, d.apply, d.watch, d.show} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) connect(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	access, err := d.place.connect(ctx)
	if err != nil {
		return err
	}
	d.access = access
	scheme, err := settings.Scheme()
	if err != nil {
		return err
	}
	if d.client, err = client.New(access.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("reach the cluster at %s: %w", access.config.Host, err)
	}
	return nil
}

// install brings the operator of this source tree into the cluster and waits until it serves.
func (d *demo) install(ctx context.Context) error {
	manifest, err := d.place.manifest(ctx)
	if err != nil {
		return err
	}
	d.out.line("apply " + installFile)
	if err := d.keep(manifest); err != nil {
		return err
	}
	if err := install.Manifest(ctx, d.client, manifest); err != nil {
		return err
	}
	if err := install.Available(ctx, d.client, operatorPatience); err != nil {
		return err
	}
	d.out.line("the operator is available")
	return nil
}

// keep writes what is installed to a file, for people to see, and to delete it with.
func (d *demo) keep(manifest []byte) error {
	file := filepath.Join(d.root, installFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, manifest, 0o644)
}

// manifest is the file that the demo applies.
func (d *demo) manifest() string { return filepath.Join(d.root, "examples", "demo.yaml") }

// kubectlArgs shows the command as a user would type it.
func kubectlArgs(args ...string) string { return "kubectl " + strings.Join(args, " ") }

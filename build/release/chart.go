package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/build/manifest"
)

const chartDir = "charts/skyhook-operator"

// writeChart writes the chart's package, install.yaml, and the base for kustomize that goes with it.
func writeChart(ctx context.Context, o Options, dir string, built []images.Result) error {
	helm, err := manifest.Helm(ctx, o.Root, o.Log)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Log, "chart and install.yaml")
	out, err := exec.CommandContext(ctx, helm, "package", filepath.Join(o.Root, chartDir), "--destination",
		dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("helm package: %w: %s", err, out)
	}
	if err := withoutTimes(dir); err != nil {
		return err
	}
	install, err := manifest.Install(ctx, o.Root, o.Log, built...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "install.yaml"), install, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), manifest.Base, 0o644)
}

// withoutTimes writes the chart's package in dir anew: Helm puts the time of the build into it.
func withoutTimes(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("helm package wrote %d files, want 1", len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	members, err := untarGzip(content)
	if err != nil {
		return err
	}
	return tarGzip(files[0], members)
}

package release

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/build/manifest"
)

const (
	chartDir = "charts/skyhook-operator"
	baseFile = "kustomization.yaml"
)

// writeChart writes the chart's package, install.yaml, and the base for kustomize that goes with it.
func writeChart(ctx context.Context, o Options, dir string, built []images.Result) error {
	helm, err := Helm(ctx, o.Root, o.Log)
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
	install, err := manifest.Install(o.Root, built...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "install.yaml"), install, 0o644); err != nil {
		return err
	}
	base, err := os.ReadFile(filepath.Join(o.Root, "config", baseFile))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, baseFile), base, 0o644) //nolint:gosec // no stranger says where
}

// Helm is the program, in the version of the repository, which is built if it is not there yet.
func Helm(ctx context.Context, root string, log io.Writer) (string, error) {
	tool := exec.CommandContext(ctx, filepath.Join(root, "tools/tool"), "helm")
	tool.Stderr = log
	binary, err := tool.Output()
	if err != nil {
		return "", fmt.Errorf("build helm: %w", err)
	}
	return strings.TrimSpace(string(binary)), nil
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

package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skyhook-operator/skyhook/build/images"
)

const (
	chartDir = "charts/skyhook-operator"
	// installVersion is the Kubernetes that install.yaml is for, at least: all of the chart is for it.
	installVersion = "1.30.0"
	installHeader  = `# Skyhook %s, rendered from its chart with the default values. For Kubernetes 1.30 or newer:
#
#     kubectl apply --server-side -f install.yaml
#
# Images are named by their digests; for a registry of yours change the part before "@", or use the chart.
apiVersion: v1
kind: Namespace
metadata:
  name: skyhook
  labels:
    # Package pods work as root in the root of their node.
    pod-security.kubernetes.io/enforce: privileged
`
)

// writeChart writes the chart's package and install.yaml.
func writeChart(ctx context.Context, o Options, dir string, built []images.Result) error {
	tool := exec.CommandContext(ctx, filepath.Join(o.Root, "tools/tool"), "helm")
	tool.Stderr = o.Log
	binary, err := tool.Output()
	if err != nil {
		return fmt.Errorf("build helm: %w", err)
	}
	helm := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, strings.TrimSpace(string(binary)), args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("helm %s: %w: %s", args[0], err, &stderr)
		}
		return out, nil
	}
	fmt.Fprintln(o.Log, "chart and install.yaml")
	if _, err := helm("package", filepath.Join(o.Root, chartDir), "--destination", dir); err != nil {
		return err
	}
	if err := withoutTimes(dir); err != nil {
		return err
	}
	rendered, err := helm(templateArgs(o, built)...)
	if err != nil {
		return err
	}
	header := fmt.Appendf(nil, installHeader, o.version)
	return os.WriteFile(filepath.Join(dir, "install.yaml"), append(header, rendered...), 0o644)
}

func templateArgs(o Options, built []images.Result) []string {
	args := []string{"template", "skyhook", filepath.Join(o.Root, chartDir), "--namespace", "skyhook", "--kube-version", installVersion}
	values := map[string]string{"operator": "image", "agent": "agent"}
	for _, image := range built {
		if value, has := values[image.Name]; has {
			prefix := "controllerManager.manager." + value
			args = append(args, "--set", prefix+".tag="+image.Version, "--set", prefix+".digest="+image.Digest.String())
		}
	}
	return args
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

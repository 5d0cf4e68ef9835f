// Package manifest renders the chart with its default values as install.yaml, so that neither the demo nor a user needs
// Helm.
package manifest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/build/images"
)

// Base is a kustomization.yaml for the folder of install.yaml.
//
//go:embed kustomization.yaml
var Base []byte

// oldestKubernetes is the oldest version that takes all of the chart.
const oldestKubernetes = "1.30"

const header = `# Skyhook %[1]s, rendered from its chart with the default values. For Kubernetes %[2]s or newer:
#
#     kubectl apply --server-side -f install.yaml
#
# A release names the images by their digests. For a registry of yours change what is before the last "/" of their
# names; or use the chart, or kustomize, for which kustomization.yaml is beside this file.
apiVersion: v1
kind: Namespace
metadata:
  name: skyhook
  labels:
    # Package pods work as root in the root of their node.
    pod-security.kubernetes.io/enforce: privileged
`

// Install returns install.yaml for the chart of the repository in root. Those images in it that were built are named by
// their digests: the tag is the same for every build of a version, so by tag alone a changed operator would not be
// rolled out.
func Install(ctx context.Context, root string, log io.Writer, built ...images.Result) ([]byte, error) {
	version, err := images.Version(root)
	if err != nil {
		return nil, err
	}
	helm, err := Helm(ctx, root, log)
	if err != nil {
		return nil, err
	}
	render := exec.CommandContext(ctx, helm, "template", "skyhook", filepath.Join(root, "charts/skyhook-operator"),
		"--namespace", "skyhook", "--kube-version", oldestKubernetes+".0")
	var stderr bytes.Buffer
	render.Stderr = &stderr
	rendered, err := render.Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w: %s", err, stderr.Bytes())
	}
	text := append(fmt.Appendf(nil, header, version, oldestKubernetes), rendered...)
	for _, image := range built {
		if !slices.Contains([]string{"operator", "agent"}, image.Name) {
			continue
		}
		if !bytes.Contains(text, []byte(image.Reference)) {
			return nil, fmt.Errorf("the chart does not name the image %s: compare appVersion in Chart.yaml with VERSION", image.Reference)
		}
		text = bytes.ReplaceAll(text, []byte(image.Reference), []byte(image.Reference+"@"+image.Digest.String()))
	}
	return text, nil
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

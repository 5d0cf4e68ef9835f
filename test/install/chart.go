package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Namespace and Release are those of the README.
	Namespace = "skyhook"
	Release   = "skyhook"
)

// Chart installs the chart of the repository in root, or brings an installed one up to date. kubeconfig is a file, or
// empty for the environment's. args are further arguments for Helm. It does not wait for the operator: see Available.
func Chart(ctx context.Context, c client.Client, root, kubeconfig string, args ...string) error {
	if err := unlock(ctx, c); err != nil {
		return err
	}
	args = append([]string{
		"upgrade", "--install", Release, filepath.Join(root, "charts", "skyhook-operator"), "--create-namespace",
	}, args...)
	if err := Helm(ctx, root, kubeconfig, args...); err != nil {
		return fmt.Errorf("install the chart: %w", err)
	}
	return nil
}

// Helm runs the Helm of the repository in root in the operator's namespace. kubeconfig is as for Chart.
func Helm(ctx context.Context, root, kubeconfig string, args ...string) error {
	helm, err := exec.CommandContext(ctx, filepath.Join(root, "tools", "tool"), "helm").Output()
	if err != nil {
		return fmt.Errorf("build helm: %w%s", err, stderrOf(err))
	}
	cmd := exec.CommandContext(ctx, strings.TrimSpace(string(helm)), append(args, "--namespace", Namespace)...)
	cmd.Env = os.Environ()
	if kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	}
	// Helm notes in the release that it was interrupted, if it may.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("helm %s: %w\n%s", args[0], err, output.String())
	}
	return nil
}

func stderrOf(err error) string {
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// unlock forgets a Helm operation that was killed half-way: Helm would refuse the next one for ever. What it had
// created is adopted by the next installation.
func unlock(ctx context.Context, c client.Client) error {
	var releases corev1.SecretList
	err := c.List(ctx, &releases, client.InNamespace(Namespace), client.MatchingLabels{"owner": "helm", "name": Release})
	if err != nil {
		return fmt.Errorf("list the releases of Helm: %w", err)
	}
	for i := range releases.Items {
		secret := &releases.Items[i]
		if !strings.HasPrefix(secret.Labels["status"], "pending-") {
			continue
		}
		if err := c.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("forget the interrupted release %s: %w", secret.Name, err)
		}
	}
	return nil
}

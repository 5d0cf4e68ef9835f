package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// expected are the lines that the stages apply and config of the demo's package write.
var expected = []string{"hello world", "a config is run"}

// show prints what the package left on each node and what the Skyhook says. It fails if a node's own file tells
// otherwise.
func (d *demo) show(ctx context.Context) error {
	for _, node := range d.nodes {
		content, err := d.place.onHost(ctx, node, "cat", helloFile)
		if err != nil {
			return fmt.Errorf("read %s on node %s: %w", helloFile, node, err)
		}
		d.out.block(helloFile+" on "+node+":", content)
		for _, line := range expected {
			if !strings.Contains(content, line) {
				return fmt.Errorf("%s on node %s lacks the line %q", helloFile, node, line)
			}
		}
	}
	args := []string{"get", "skyhook", skyhookName}
	table, err := d.kubectl(ctx, args...)
	if err != nil {
		return err
	}
	d.out.block("$ "+kubectlArgs(args...), table)
	fmt.Fprintf(d.out.w, "\nTime taken: %s\n\n%s\n", d.out.elapsed().Round(100*time.Millisecond), d.place.hint())
	return nil
}

func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.access.kubectl, args...)
	cmd.Env = os.Environ()
	if d.access.kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+d.access.kubeconfig)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", kubectlArgs(args...), err, out)
	}
	return string(out), nil
}

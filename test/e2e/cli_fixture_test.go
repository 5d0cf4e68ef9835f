//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// plugin runs kubectl skyhook, and returns what it prints.
func plugin(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	c := cli.Root("1.0.0", time.Now)
	var out bytes.Buffer
	c.SetIn(strings.NewReader(input))
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(append([]string{"--kubeconfig", here(t).Kubeconfig()}, args...))
	err := c.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

func mustPlugin(t *testing.T, args ...string) string {
	t.Helper()
	out, err := plugin(t, "", args...)
	if err != nil {
		t.Fatalf("kubectl skyhook %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

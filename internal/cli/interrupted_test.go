//go:build integration

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
)

// runUntil is run with a context.
func (c *cluster) runUntil(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var out bytes.Buffer
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append([]string{"--kubeconfig", c.kubeconfig}, args...))
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

// TestInterruptedWrites: Ctrl-C among many nodes begins no other, and tells exactly how many were changed.
func TestInterruptedWrites(t *testing.T) {
	const nodes = 100
	c := newCluster(t)
	for i := range nodes {
		c.put(newNode(fmt.Sprintf("many-%03d", i), nil))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var patches atomic.Int32
	var once sync.Once
	c.through(func(_ http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && patches.Add(1) > nodes/4 {
			once.Do(interrupt)
		}
		return false
	})
	out, err := c.runUntil(ctx, strings.NewReader(""), "node", "ignore", "many-.*")
	changed := 0
	for i := range nodes {
		if v1alpha1.Ignored(c.node(fmt.Sprintf("many-%03d", i)).Labels) {
			changed++
		}
	}
	if changed == 0 || changed == nodes {
		t.Fatalf("%d nodes were changed: nothing was interrupted", changed)
	}
	want := fmt.Sprintf("interrupted: %d of %d nodes left as they were; run the command again for them", nodes-changed, nodes)
	if err == nil || err.Error() != want || strings.Contains(out, "Errors") ||
		!strings.HasSuffix(out, fmt.Sprintf("Successfully ignored %d node(s)\n", changed)) {
		t.Errorf("%d were changed, error %v\nwant %s\n%s", changed, err, want, out)
	}
}

// TestInterruptedQuestion does not wait for an answer after Ctrl-C.
func TestInterruptedQuestion(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	never, _ := io.Pipe()
	asked := readFunc(func(p []byte) (int, error) {
		interrupt()
		return never.Read(p)
	})
	out, err := c.runUntil(ctx, asked, "disable", "gpu")
	if err != nil || !strings.HasSuffix(out, "Aborted.\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, there := c.stored("gpu").Annotations[v1alpha1.AnnotationDisable]; there {
		t.Error("disabled without an answer")
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

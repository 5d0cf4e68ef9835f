//go:build integration

package cli_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestAThousandNodes is about commands for a whole fleet: lists come in pages, and writes many at a time.
func TestAThousandNodes(t *testing.T) {
	const nodes, workers, limit = 1000, 32, 15 * time.Second
	c := newCluster(t)
	c.put(gpu())
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < nodes; i += workers {
				if err := c.Create(t.Context(), newNode(fmt.Sprintf("fleet-%04d", i), states("{"+driverDone+"}"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Cleanup(func() {
		if err := c.DeleteAllOf(context.Background(), &corev1.Node{}); err != nil {
			t.Error(err)
		}
	})
	for _, command := range []string{"node ignore fleet-.*", "reset gpu --skip-batch-reset --yes"} {
		began := time.Now()
		out, _, err := c.run("", strings.Fields(command)...)
		took := time.Since(began)
		t.Logf("%s: %s", command, took)
		if err != nil || !strings.Contains(out, "1000 node(s)") {
			t.Errorf("%s: %v\n%s", command, err, out[max(0, len(out)-500):])
		}
		if took > limit {
			t.Errorf("%s took %s, more than %s", command, took, limit)
		}
	}
	if n := c.node("fleet-0999"); !v1alpha1.Ignored(n.Labels) || n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"gpu"] != "" {
		t.Errorf("the last node has labels %v and annotations %v", n.Labels, n.Annotations)
	}
}

//go:build integration

package cli_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestBoard shows what happens while it happens.
func TestBoard(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	b := c.board()
	p := b.page("")
	p.until("a node that fails", func() bool { return p.nodes["worker-1"].Status == v1alpha1.StatusErroring })
	t.Logf("%+v %+v", p.board, p.board.Skyhook)
	t.Logf("%s", b.get("/api/node?skyhook=gpu&node=worker-1"))
	t.Logf("%s", b.get("/api/logs?skyhook=gpu&node=worker-1&package=tuning"))
}

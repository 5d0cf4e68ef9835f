//go:build integration

package board

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// most is how many bytes a picture of the documentation may have.
const most = 150 << 10

// TestRollouts: what is seen of a cluster with nothing in it, and of rollouts that run, have stopped and are complete.
func TestRollouts(t *testing.T) {
	c := newCluster(t)
	t.Run("empty", func(t *testing.T) {
		b := open(t, c.board(t))
		b.sees("#empty", "No Skyhooks found")
		b.sees("#cluster", "production")
		if eval[bool](b, `document.querySelector("#filter").checkVisibility() || document.querySelectorAll(".compartment").length > 0`) {
			t.Error("there are grids")
		}
		b.drawn("")
	})
	t.Run("nothing selected", func(t *testing.T) {
		put(t, c, "idle", "")
		b := open(t, c.board(t))
		b.sees("#empty", "No node is selected by Skyhook idle.")
	})
	t.Run("running", func(t *testing.T) {
		put(t, c, "gpu-init", strings.Repeat("c", 52)+"ppp"+strings.Repeat("w", 65)+strings.Repeat("C", 14)+"PP"+strings.Repeat("W", 24))
		b := open(t, c.board(t))
		b.sees("h2", "gpu-init", "in progress", "66 of 160 nodes complete")
		b.sees("#waiting", "89 WaitingForPermit: the budget allows 3 nodes at a time")
		b.sees("#statuses", "66 complete", "5 in progress", "89 waiting")
		b.sees(".compartment", "52 of 120 complete · 3 in progress · budget 3 · batch 4", "14 of 40 complete · 2 in progress · budget 3 · batch 2")
		b.sees(".caption", "Current batch · 3", "Waiting · 65", "Complete · 14")
		b.drawn("board-running")
	})
	t.Run("stopped", func(t *testing.T) {
		f := put(t, c, "gpu-init", strings.Repeat("c", 32)+"ppp"+strings.Repeat("w", 37)+strings.Repeat("C", 6)+"EEP"+strings.Repeat("W", 19))
		f.stopped = true
		f.sync()
		b := open(t, c.board(t))
		b.sees("h2", "erroring", "38 of 100 nodes complete")
		b.sees("#attention", "gpu-init-0079", "StepFailed", "tuning-apply exited with 2: no such sysctl")
		b.sees(".badge.erroring", "batch 2 stopped")
		b.do(chromedp.Click(chromedp.CSS("#attention button")))
		b.sees("#pane", "gpu-init-0079", "StepFailed", "kubectl skyhook package rerun tuning --skyhook gpu-init --node gpu-init-0079")
		b.drawn("board-stopped")
	})
	t.Run("complete", func(t *testing.T) {
		put(t, c, "gpu-init", strings.Repeat("c", 120)+strings.Repeat("C", 40))
		b := open(t, c.board(t))
		b.sees("h2", "complete", "160 nodes")
		b.sees(".compartment", "120 of 120 complete")
		if eval[bool](b, `document.querySelector("#attention").checkVisibility()`) {
			t.Error("nodes need attention")
		}
		b.scheme("dark")
		b.drawn("board-complete")
	})
}

// drawn takes the picture, and fails the test if it is empty or too large for the documentation.
func (b *tab) drawn(name string) {
	b.Helper()
	taken := b.picture(name)
	if len(taken) > most {
		b.Errorf("the picture has %d bytes", len(taken))
	}
	picture, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		b.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for x := range picture.Bounds().Dx() {
		for y := range picture.Bounds().Dy() {
			r, g, blue, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r, g, blue}] = true
		}
	}
	if len(colours) < 10 {
		b.Errorf("the picture has %d colours", len(colours))
	}
}

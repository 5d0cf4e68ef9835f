//go:build integration

package board

import (
	"bytes"
	"fmt"
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
		put(t, c, "gpu-init", strings.Repeat("c", 52)+"ppp"+strings.Repeat("w", 95)+strings.Repeat("C", 14)+"PP"+strings.Repeat("W", 34))
		b := open(t, c.board(t))
		b.sees("h2", "gpu-init", "in progress", "66 of 200 nodes complete")
		b.sees("#waiting", "129 WaitingForPermit: the budget allows 3 nodes at a time")
		b.sees("#statuses", "66 complete", "5 in progress", "129 waiting")
		b.sees(".compartment", "52 of 150 complete · 3 in progress · budget 3 · batch 4", "14 of 50 complete · 2 in progress · budget 3 · batch 2")
		b.sees(".caption", "Current batch · 3", "Waiting · 95", "Complete · 14")
		b.tiled(false)
		b.drawn("board-running")
		b.phone()
		b.drawn("board-phone")
	})
	t.Run("stopped", func(t *testing.T) {
		f := put(t, c, "gpu-init", strings.Repeat("c", 32)+"ppp"+strings.Repeat("w", 105)+strings.Repeat("C", 6)+"EEP"+strings.Repeat("W", 51))
		f.stopped = true
		f.sync()
		b := open(t, c.board(t))
		b.sees("h2", "erroring", "38 of 200 nodes complete")
		b.sees("#attention", "gpu-init-0147", "StepFailed", "tuning-apply exited with 2: no such sysctl")
		b.sees(".badge.erroring", "batch 1 stopped")
		b.do(chromedp.Click(chromedp.CSS("#attention button")))
		b.sees("#pane", "gpu-init-0147", "StepFailed", "kubectl skyhook package rerun tuning --skyhook gpu-init --node gpu-init-0147")
		b.drawn("board-stopped")
	})
	t.Run("small", func(t *testing.T) {
		put(t, c, "gpu-init", "cpw")
		b := open(t, c.board(t))
		b.sees("h2", "1 of 3 nodes complete")
		b.tiled(true)
		b.drawn("board-small")
		b.phone()
		b.tiled(true)
		b.drawn("")
	})
	t.Run("small and stopped", func(t *testing.T) {
		f := put(t, c, "gpu-init", "cEw")
		f.stopped = true
		f.sync()
		b := open(t, c.board(t))
		b.sees("#attention", "gpu-init-0002", "StepFailed")
		b.drawn("")
		b.phone()
		b.drawn("board-small-phone")
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

// phone is a screen of that size.
func (b *tab) phone() {
	b.Helper()
	b.do(chromedp.EmulateViewport(390, 844))
}

// tiled expects nodes to be tiles, which are wider than high, or squares.
func (b *tab) tiled(want bool) {
	b.Helper()
	b.square("gpu-init-0001") // it puts the position there
	b.until("the nodes look as expected", fmt.Sprintf(`(() => {
		const box = document.querySelector(".grid [role=option]").getBoundingClientRect();
		return (box.width > box.height + 1) === %t;
	})()`, want))
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

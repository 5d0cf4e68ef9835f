//go:build integration

package board

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestForcedColours: where the browser has its own colours, bars, the position and pressed buttons are still seen.
func TestForcedColours(t *testing.T) {
	c := newCluster(t)
	put(t, c, "gpu-init", "ccpeww")
	b := open(t, c.board(t))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Focus(chromedp.CSS("#statuses button")))
	b.press(" ", kb.Tab)
	for selector, what := range map[string]string{
		`#statuses [aria-pressed="true"]`: "outlineStyle", ".grid:focus-visible .position": "outlineStyle", ".bar .complete": "backgroundColor",
	} {
		if selector == ".grid:focus-visible .position" {
			b.do(chromedp.Focus(chromedp.CSS(".grid")))
			b.press(kb.ArrowRight)
		}
		got := eval[string](b, fmt.Sprintf("getComputedStyle(document.querySelector(%q))[%q]", selector, what))
		if got == "none" || got == "rgb(255, 255, 255)" {
			t.Errorf("%s: %s is %s", selector, what, got)
		}
	}
}

//go:build integration

package board

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPlaces: the address leads back to a Skyhook and a node, and other Skyhooks that need somebody are seen.
func TestPlaces(t *testing.T) {
	c := newCluster(t)
	put(t, c, "runs", "cpw")
	put(t, c, "fails", "cEw")
	through := newLine(t, c.board(t))
	b := open(t, through.address+"#runs/runs-0003", "ERR_", "Failed to load resource")
	b.sees("h2", "runs", "1 of 3 nodes complete")
	b.sees("#pane h2", "runs-0003")
	b.sees("#others", "fails: erroring")
	b.do(chromedp.Click(chromedp.CSS("#pane .close")))
	b.until("the node is not in the address", `location.hash === "#runs"`)

	b.do(chromedp.Click(chromedp.CSS("#others button")))
	b.sees("h2", "fails", "erroring")
	b.sees("#attention", "fails-0002")
	b.opensFirst()
	b.sees("#pane .cause", "StepFailed")
	b.until("the node is in the address", `location.hash === "#fails/fails-0002"`)
	b.do(chromedp.Reload())
	b.sees("#pane .cause", "StepFailed")
	b.do(chromedp.NavigateBack())
	b.until("Back closes the node", `document.querySelector("#pane").hidden && location.hash === "#fails"`)
	b.do(chromedp.NavigateBack())
	b.sees("h2 #name", "runs")
	b.do(chromedp.NavigateForward())
	b.sees("h2 #name", "fails")

	b.opensFirst()
	b.sees("#pane .cause", "StepFailed")
	b.press(kb.Escape)
	b.until("the focus is where it was", `document.activeElement.matches("#attention button") && location.hash === "#fails"`)

	eval[any](b, `location.hash = "#gone"; null`)
	b.sees("#empty", "There is no Skyhook gone.")
	b.chooses("fails")
	b.sees("h2 #name", "fails")

	through.cut() // what is chosen now cannot be shown
	b.sees("#lost", "The connection to kubectl skyhook board is lost")
	b.chooses("runs")
	b.opensFirst()
	if eval[bool](b, `location.hash !== "#runs" || !document.querySelector("#pane").hidden`) {
		t.Error("a node of another Skyhook is open")
	}
	b.run(`history.back()`)
	b.until("Back leads to the other one", `location.hash === "#fails"`)
	through.mend(t)
	b.until("the connection is back", `document.querySelector("#lost").hidden`)
	b.sees("h2 #name", "fails")
}

// chooses takes a Skyhook from the list.
func (b *tab) chooses(name string) {
	b.Helper()
	b.do(chromedp.SetValue(chromedp.CSS("#skyhooks"), name))
	b.run(`document.querySelector("#skyhooks").dispatchEvent(new Event("change"))`)
}

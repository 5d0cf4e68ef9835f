//go:build integration

package board

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestKeyboard: everything can be done without a mouse, and is told to a screen reader.
func TestKeyboard(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "ccpewwwCC")
	b := open(t, c.board(t, "gpu-init"))
	tabTo := func(selector string) {
		t.Helper()
		for range 40 {
			if eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
				return
			}
			b.press(kb.Tab)
		}
		t.Fatalf("Tab does not lead to %s", selector)
	}
	// at waits until the position is at a node, by what a screen reader says of it.
	at := func(label string) {
		t.Helper()
		b.until("the position is at "+label, fmt.Sprintf(
			`document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.ariaLabel.startsWith(%q)`, label))
	}
	tabTo(".grid")
	at("gpu-init-0003, in progress, tuning apply, 1/2 packages complete, current batch")
	b.press(kb.ArrowRight)
	at("gpu-init-0004, erroring, tuning apply, StepFailed, 1/2 packages complete, erroring or blocked")
	b.press(kb.End)
	at("gpu-init-0002, complete")
	b.press(kb.Home, kb.ArrowDown, kb.ArrowDown)
	at("gpu-init-0005, waiting, WaitingForPermit")
	b.press(kb.PageDown)
	at("gpu-init-0001, complete")
	b.press(kb.PageUp)
	at("gpu-init-0003")
	b.press(kb.ArrowRight)
	b.sees("#tip", "gpu-init-0004")

	b.press(kb.Enter)
	b.sees("#pane .cause", "StepFailed")
	b.until("the pane has the focus", `document.activeElement.id === "node"`)
	tabTo("#pane .cause .command button")
	b.press(kb.Escape)
	b.until("the pane is closed", `document.querySelector("#pane").hidden`)
	at("gpu-init-0004")

	f.becomes(3, v1alpha1.StatusComplete) // the position stays with its node, and its new status is told
	at("gpu-init-0004, complete")
	b.sees("#live", "gpu-init-0004: complete")

	tabTo("#find")
	b.press("0", "0", "0", "9")
	b.sees("#shown", "1 of 9 nodes shown")
	b.until("the compartment without it is not there", `[...document.querySelectorAll(".compartment")].filter(e => e.checkVisibility()).length === 1`)
	tabTo("#statuses button")
	b.press(" ")
	b.sees("#shown", "1 of 9 nodes shown")
	tabTo("#statuses button:nth-of-type(2)")
	b.press(" ", kb.Tab)
	b.until("both buttons are pressed", `document.querySelectorAll("[aria-pressed=true]").length === 2`)
}

//go:build integration

package board

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// violations are those that keep people out, with the elements that have them.
const violations = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations, passes }) => {
	if (passes.length < 10) throw new Error("axe-core checked only " + passes.length + " rules");
	return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
		.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + help + "\n" + html + "\n" + failureSummary));
})`

// TestAccessibility: axe-core finds nothing serious, whatever the page shows.
func TestAccessibility(t *testing.T) {
	c := newCluster(t)
	folder, err := tool("npm", "axe-core")
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(folder, "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	f := putWith(t, c, "gpu-init", "ccpebwwwCEW", markup)
	f.stopped = true
	f.sync()
	f.logs(3)
	b := open(t, c.board(t))
	check := func(what string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.until("nothing moves", `document.getAnimations().length === 0`)
			if found := eval[[]string](b, violations); len(found) > 0 {
				t.Errorf("%s, %s:\n%s", what, scheme, strings.Join(found, "\n\n"))
			}
		}
	}
	eval[any](b, string(axe)+"; null")
	b.sees(".badge.erroring", "batch 1 stopped")
	check("the board")
	b.opensFirst()
	b.sees("#pane .log", "vm.nr_hugepages")
	check("with the pane")
	b.do(chromedp.EmulateViewport(320, 700)) // as 1280 pixels with a zoom of 400 %
	check("with the pane in a narrow window")
	if !eval[bool](b, `document.querySelector("main").inert`) {
		t.Error("what the pane covers can have the focus")
	}
	b.do(chromedp.Click(chromedp.CSS("#pane .close")))
	check("in a narrow window")
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 320 {
		t.Errorf("%d pixels in a window of 320: %v", wide, eval[[]string](b,
			`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 320).map(e => e.outerHTML.slice(0, 80))`))
	}
}

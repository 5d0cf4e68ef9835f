//go:build integration

package board

import (
	"testing"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestUnread: a pane keeps what it has while the node cannot be read, and is right again by itself.
func TestUnread(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cEw")
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server := config.Clusters["production"]
	through := newLine(t, server.Server)
	server.Server = "https://" + through.at
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	b := open(t, c.board(t), "Failed to load resource")
	b.do(chromedp.Click(chromedp.CSS("#attention button")))
	b.sees("#pane .cause", "StepFailed")

	through.cut()
	b.sees("#lost", "Skyhooks and nodes cannot be watched: ", "connection refused", "This picture is of ")
	const said = `document.querySelector("#lost").innerText`
	before := eval[string](b, said)
	x, y := b.square(f.nodes[2].Name)
	b.do(chromedp.MouseClickXY(x, y))
	b.sees("#pane .notice", "Listing nodes")
	x, y = b.square(f.nodes[1].Name)
	b.do(chromedp.MouseClickXY(x, y))
	b.sees("#pane .notice", "Listing nodes")
	if now := eval[string](b, said); now != before {
		t.Errorf("first %q, then %q", before, now)
	}
	through.mend(t)
	b.until("it is watched again", `document.querySelector("#lost").hidden`)
	b.sees("#pane .cause", "StepFailed")
	b.until("nothing is wrong with the node", `document.querySelector("#pane .notice").hidden`)
}

// TestFocusStays where somebody is when a node changes, and what is said to be wrong is said once.
func TestFocusStays(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cEw")
	b := open(t, c.board(t))
	b.do(chromedp.Click(chromedp.CSS("#attention button")))
	b.sees("#pane .cause", "StepFailed")
	eval[any](b, `window.said = 0;
		new MutationObserver((all) => { said += all.length }).observe(document.querySelector("#warning"), { childList: true, subtree: true });
		[...document.querySelectorAll("#pane .command button")].at(-1).focus(); null`)
	c.ready(t, 0)
	b.sees("#warning", "No replica of the operator")
	t.Cleanup(func() { c.ready(t, 1) })
	f.message = "tuning-apply exited with 3: something else"
	f.becomes(1, v1alpha1.StatusErroring)
	f.sync()
	b.sees("#pane .cause", "something else")
	b.sees("#attention", "something else")
	if !eval[bool](b, `document.activeElement === [...document.querySelectorAll("#pane .command button")].at(-1)`) {
		t.Errorf("the focus is at %s", eval[string](b, `document.activeElement.outerHTML.slice(0, 100)`))
	}
	if said := eval[int](b, `said`); said != 1 {
		t.Errorf("the warning was said %d times", said)
	}
}

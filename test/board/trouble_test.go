//go:build integration

package board

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// counted counts the whole pictures that a page gets.
const counted = `
window.boards = 0;
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, listener) {
	listen.call(this, name, (event) => { listener(event); if (name === "board") boards++; });
};`

// TestUnread: a pane keeps what it has while the node cannot be read, and is right again by itself.
func TestUnread(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cEw")
	through := c.behind(t)
	b := blank(t)
	b.before(counted)
	b.watch([]string{"Failed to load resource"})
	b.do(chromedp.Navigate(c.board(t)))
	b.opensFirst()
	b.sees("#pane .cause", "StepFailed")

	through.cut()
	b.sees("#lost", "Skyhooks and nodes cannot be watched: ", "connection refused", "This picture is of ")
	const said = `document.querySelector("#lost").innerText`
	before := eval[string](b, said)
	b.opens(f.nodes[2].Name)
	b.sees("#pane .notice", "Listing nodes")
	b.opens(f.nodes[1].Name)
	b.sees("#pane .notice", "Listing nodes")
	if now := eval[string](b, said); now != before {
		t.Errorf("first %q, then %q", before, now)
	}
	b.run(`window.said = 0, new MutationObserver((all) => { said += all.length }).observe(document.querySelector("#lost"),
		{ childList: true, subtree: true, attributes: true })`)
	b.hide()
	b.show()
	b.until("there is a new picture", `boards === 2`)
	if said := eval[int](b, `said`); said > 0 {
		t.Errorf("what is still wrong was said again, with %d changes", said)
	}
	through.mend(t)
	b.until("it is watched again", `document.querySelector("#lost").hidden`)
	b.sees("#pane .cause", "StepFailed")
	b.until("nothing is wrong with the node", `document.querySelector("#pane .notice").hidden`)
}

// TestNoAnswer: a picture is not shown as that of now while the API server hangs, which no watch tells.
func TestNoAnswer(t *testing.T) {
	c := newCluster(t)
	put(t, c, "hangs", "cEw")
	through := c.behind(t)
	address := c.board(t, "hangs")
	b := open(t, address)
	b.sees("#age", "updated ", " ago")

	through.stall()
	begun := time.Now()
	b.sees("#lost", "The API server does not answer", "This picture is of ")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("said after %v that nothing answers", took)
	}
	b.sees("#age", "no update for ")
	fresh := open(t, address)
	fresh.sees("#lost", "The API server does not answer", "This picture is of ")
	fresh.sees("#age", "no update for ")
	fresh.sees("h2", "1 of 3 nodes complete")

	through.carryOn()
	b.until("it answers again", `document.querySelector("#lost").hidden`)
	b.sees("#age", "updated ", " ago")
}

// behind puts a line between the API server and the boards that are started from now on.
func (c cluster) behind(t *testing.T) *line {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server := config.Clusters["production"]
	l := newLine(t, server.Server)
	server.Server = "https://" + l.at
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFocusStays where somebody is when a node changes, and what is said to be wrong is said once.
func TestFocusStays(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cEw")
	b := open(t, c.board(t))
	b.opensFirst()
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

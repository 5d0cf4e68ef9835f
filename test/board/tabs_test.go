//go:build integration

package board

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestManyTabs: a browser has at most six connections to a server for all its tabs, and those behind others take none.
func TestManyTabs(t *testing.T) {
	c := newCluster(t)
	t.Parallel()
	f := put(t, c, "tabs", "cw")
	address := c.board(t, "tabs")
	first := open(t, address)
	last := first
	for range 7 {
		last.hide()
		last = last.another(address)
		last.sees("h2", "1 of 2 nodes complete")
	}
	f.becomes(1, v1alpha1.StatusComplete)
	f.sync()
	last.sees("h2", "2 nodes")
	first.until("the title of a tab behind others follows", `document.title.includes("2 nodes")`)
	first.show()
	f.becomes(1, v1alpha1.StatusErroring)
	f.sync()
	first.sees("h2", "1 of 2 nodes complete")
}

// hide puts a tab behind others, as far as the page knows; show brings it to the front.
func (b *tab) hide() {
	b.Helper()
	b.run(`Object.defineProperty(document, "hidden", { get: () => true, configurable: true }),
		document.dispatchEvent(new Event("visibilitychange"))`)
}

func (b *tab) show() {
	b.Helper()
	b.run(`delete document.hidden, document.dispatchEvent(new Event("visibilitychange"))`)
}

// another opens an address in another tab of the browser.
func (b *tab) another(address string) *tab {
	b.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		b.Fatal(err)
	}
	n := &tab{T: b.T, ctx: ctx}
	n.do(chromedp.Navigate(address))
	n.until("the page is there", `document.querySelector("#loading").hidden`)
	return n
}

// TestLinkElsewhere: the printed address also works as a link on another site, such as a terminal in the browser.
func TestLinkElsewhere(t *testing.T) {
	c := newCluster(t)
	put(t, c, "gpu-init", "cw")
	address := c.board(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "<!doctype html><a href=%q>the board</a>", address)
	}))
	t.Cleanup(elsewhere.Close)
	b := blank(t)
	b.do(chromedp.Navigate(strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)), chromedp.Click(chromedp.CSS("a")))
	b.sees("h2", "1 of 2 nodes complete")
}

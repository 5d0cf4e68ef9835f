//go:build integration

package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// between stands between the page and the server: it holds back what the page asks of nodes, or lets it fail.
const between = `
window.held = [];
const ask = window.fetch;
window.fetch = (what, options = {}) => {
	if (!what.includes("api/node")) return ask(what, options);
	if (window.fails) return Promise.resolve(new Response('{"message":"listing nodes: it restarts"}', { status: 502 }));
	if (!window.holds) return ask(what, options);
	return new Promise((answer, fail) => held.push({ options, go: () => ask(what, options).then(answer, fail) }));
};`

// TestPaneFollows: the pane tells what became of its node, also where its square looks the same, whatever else was read
// meanwhile, and after reading it failed.
func TestPaneFollows(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "ppwww")
	address := c.board(t, "gpu-init")
	b := blank(t)
	b.before(between)
	b.do(chromedp.Navigate(address))
	b.until("the page is there", `document.querySelector("#loading").hidden`)
	one, other := f.nodes[0].Name, f.nodes[1].Name

	b.opens(one)
	b.sees("#pane tbody tr", "tuning\t2.1.0\tapply\tin progress\t0")
	f.stage(0, v1alpha1.StageConfig)
	b.sees("#pane tbody tr", "tuning\t2.1.0\tconfig\tin progress\t0")

	b.run(`window.holds = true`)
	b.opens(other)
	b.sees("#pane", "Reading the node…")
	b.opens(one)
	b.until("the board is asked twice", `held.length === 2`)
	if !eval[bool](b, `Boolean(held[0].options.signal?.aborted)`) {
		t.Error("the node that nobody looks at any more is still read, and the other one waits for it")
	}
	b.run(`window.holds = false, held.forEach((h) => h.go())`)
	b.sees("#pane h2", one)
	b.sees("#pane tbody tr", "tuning\t2.1.0\tconfig\tin progress\t0")

	b.run(`window.fails = true`)
	b.opens(one)
	b.sees("#pane", "Listing nodes: it restarts.")
	b.run(`window.fails = false`)
	b.sees("#pane tbody tr", "tuning\t2.1.0\tconfig\tin progress\t0")
}

// opens clicks on the square of a node, again if news moved it meanwhile.
func (b *tab) opens(name string) {
	b.Helper()
	opened := fmt.Sprintf(`document.querySelector("#pane:not([hidden]) h2")?.innerText === %q`, name)
	for begun := time.Now(); time.Since(begun) < patience; {
		x, y := b.square(name)
		b.do(chromedp.MouseClickXY(x, y))
		if eval[bool](b, opened) {
			return
		}
	}
	b.Fatalf("no click opens %s", name)
}

// stage is another stage of tuning in progress on a node.
func (f *fleet) stage(i int, stage v1alpha1.Stage) {
	f.t.Helper()
	n := f.nodes[i]
	before := client.MergeFrom(n.DeepCopy())
	r, err := record.Read(f.skyhook.Name, n.Annotations)
	if err != nil {
		f.t.Fatal(err)
	}
	for key, e := range r.Packages {
		if e.Name == "tuning" {
			e.Stage = stage
			r.Packages[key] = e
		}
	}
	p, err := record.Write(f.skyhook.Name, r, n.Annotations, n.Labels)
	if err != nil {
		f.t.Fatal(err)
	}
	n.Annotations = merged(n.Annotations, p.Annotations)
	if err := f.c.Patch(f.t.Context(), n, before); err != nil {
		f.t.Fatal(err)
	}
}

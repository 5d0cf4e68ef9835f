//go:build integration

package board

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/skyhook-operator/skyhook/test/inputs"
)

// TestSearchOfTheSite: the pages of the documentation can be searched from a disk, and what is found leads to its section.
func TestSearchOfTheSite(t *testing.T) {
	dir := t.TempDir()
	program, out := filepath.Join(dir, "site"), filepath.Join(dir, "pages")
	if err := inputs.Build("../../tools/site", program); err != nil {
		t.Fatal(err)
	}
	search, err := tool("npm", "minisearch")
	if err != nil {
		t.Fatal(err)
	}
	made, err := exec.CommandContext(t.Context(), program, "-root", "../..", "-out", out, "-search", filepath.Join(search, "dist/umd/index.js")).
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	b := blank(t)
	b.watch(nil)
	b.do(chromedp.Navigate("file://" + filepath.Join(out, "docs/tutorials/cluster.html")))
	b.do(chromedp.KeyEvent("/"))
	b.until("the field has the focus", `document.activeElement.id === "search-for"`)
	b.do(chromedp.KeyEvent("stop everything"))
	b.sees(".search li", "Stop everything")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the section is there", `location.href.endsWith("/docs/skyhooks.html#stop-everything")`)
	b.do(chromedp.KeyEvent("/"))
	b.until("the field has the focus", `document.activeElement.id === "search-for"`)
	b.do(chromedp.KeyEvent("xyzzy"))
	b.sees(".search output", "Nothing found.")
}

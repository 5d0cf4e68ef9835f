//go:build integration

package board

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long anything may take on a machine that does other things as well.
const patience = 30 * time.Second

var chromium = sync.OnceValues(func() (string, error) { return tool("chromium") })

// tab is a page in a browser of its own.
type tab struct {
	*testing.T
	ctx context.Context
}

// open opens an address in a new browser. What the page logs as an error, such as what its policy forbids, fails the
// test, unless the test tolerates it by a part of its text.
func open(t *testing.T, address string, tolerated ...string) *tab {
	t.Helper()
	b := blank(t)
	b.watch(tolerated)
	b.do(chromedp.Navigate(address))
	b.until("the page is there", `document.querySelector("#loading").hidden`)
	return b
}

// blank starts a browser that shows nothing yet.
func blank(t *testing.T) *tab {
	t.Helper()
	program, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context that starts it
		t.Fatal(err)
	}
	b := &tab{T: t, ctx: ctx}
	b.do(chromedp.EmulateViewport(1200, 800))
	b.scheme("light")
	return b
}

func (b *tab) watch(tolerated []string) {
	var mu sync.Mutex
	var said []string
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleException || m.Type == "error" {
				mu.Lock()
				said = append(said, m.Text)
				mu.Unlock()
			}
		}
	}()
	b.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, text := range said {
			if !slices.ContainsFunc(tolerated, func(part string) bool { return strings.Contains(text, part) }) {
				b.Errorf("the page logs: %s", text)
			}
		}
	})
}

// do fails the test if one of the steps does not succeed in time.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval is the value of a JavaScript expression, which may be a promise.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for a JavaScript expression to be true, and returns how long that took.
func (b *tab) until(what, expression string) time.Duration {
	b.Helper()
	begun := time.Now()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for ; !eval[bool](b, "Boolean("+expression+")"); <-look.C {
		if time.Since(begun) > patience {
			b.Fatalf("never: %s\n%s", what, eval[string](b, "document.body.innerText"))
		}
	}
	return time.Since(begun)
}

// sees fails the test if a text is not on the page in a few seconds.
func (b *tab) sees(selector string, texts ...string) {
	b.Helper()
	for _, text := range texts {
		b.until(fmt.Sprintf("%s says %q", selector, text),
			fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.checkVisibility() && e.innerText.includes(%q))", selector, text))
	}
}

// run evaluates a JavaScript expression for what it does.
func (b *tab) run(expression string) {
	b.Helper()
	eval[bool](b, "("+expression+", true)")
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// opensFirst opens the first node that needs attention, by keyboard: a mouse misses what moves when there is news.
func (b *tab) opensFirst() {
	b.Helper()
	b.do(chromedp.Focus(chromedp.CSS("#attention button")))
	b.press(kb.Enter)
}

// scheme is light or dark.
func (b *tab) scheme(name string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// before runs a script at the beginning of every page that is opened.
func (b *tab) before(script string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	if err != nil {
		b.Fatal(err)
	}
}

// picture is a screenshot as PNG. With -update it is also written to the documentation, if it has a name there.
func (b *tab) picture(name string) []byte {
	b.Helper()
	b.until("nothing moves", `document.getAnimations().length === 0`)
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if *update && name != "" {
		if err := os.WriteFile("../../docs/images/"+name+".png", png, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return png
}

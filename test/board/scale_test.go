//go:build integration

package board

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// What a page with many nodes may take: seconds of a processor and MiB. Times are three times the goal, as machines
// differ; what else they do does not count.
const (
	many       = 5000
	mostPaint  = 3 * time.Second
	mostUpdate = 300 * time.Millisecond
	mostMemory = 150 << 20
)

// drawn counts how often the page has drawn each kind of event that the server sends.
const drawn = `
window.drawn = {};
const add = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, listener) {
	add.call(this, name, (event) => {
		listener(event);
		requestAnimationFrame(() => setTimeout(() => { drawn[name] = (drawn[name] ?? 0) + 1; }));
	});
};`

// TestManyNodes: a page with 5,000 nodes is there at once, follows at once, and stays small.
func TestManyNodes(t *testing.T) {
	c := newCluster(t)
	letters := strings.Repeat("c", 2000) + strings.Repeat("p", 3) + strings.Repeat("w", many-2000-3-500) +
		strings.Repeat("C", 200) + strings.Repeat("W", 300)
	f := put(t, c, "fleet", letters)
	address := c.board(t, "fleet")

	warm := open(t, address) // the command has read the cluster when a page shows it
	warm.until("all nodes are there", fmt.Sprintf(`document.querySelector("#far").innerText.includes("of %d")`, many))

	b := blank(t)
	b.before(drawn)
	b.watch(nil)
	b.measure()
	b.do(chromedp.Navigate(address))
	b.until("the first picture is drawn", `drawn.board > 0`)
	paint := b.worked()
	b.sees(".caption", "Waiting · 2497", "Complete · 2000")

	const changes = 20
	before := b.worked()
	for i := range changes {
		f.becomes(2003+i, v1alpha1.StatusInProgress)
	}
	b.sees(".caption", fmt.Sprintf("Current batch · %d", 3+changes))
	f.sync()
	b.sees("#statuses", fmt.Sprintf("%d in progress", 3+changes))
	updates := eval[int](b, `drawn.change ?? 0`)
	update := (b.worked() - before) / time.Duration(max(1, updates))

	heap, renderer := b.memory()
	t.Logf("%d nodes: %s until the first picture; %d updates of %s; JavaScript heap %.1f MiB, renderer %.1f MiB",
		many, paint, updates, update, mib(heap), mib(renderer))
	if paint == 0 || paint > mostPaint {
		t.Errorf("the first picture took %s", paint)
	}
	if updates == 0 || update > mostUpdate {
		t.Errorf("%d updates took %s each", updates, update)
	}
	if renderer > mostMemory {
		t.Errorf("the page takes %.1f MiB", mib(renderer))
	}
	b.picture("")
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }

// measure begins to count what worked tells.
func (b *tab) measure() {
	b.Helper()
	how := performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}
	if _, err := chromedp.Call(b.ctx, performance.Enable, how); err != nil {
		b.Fatal(err)
	}
}

// worked is how much of a processor's time the page's main thread has taken.
func (b *tab) worked() time.Duration {
	b.Helper()
	now, err := chromedp.Call(b.ctx, performance.GetMetrics, struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range now.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second)).Round(time.Millisecond)
		}
	}
	b.Fatal("the browser does not count it")
	return 0
}

// memory is what the page takes, in bytes: the JavaScript heap, and all that its process has for itself.
func (b *tab) memory() (heap, renderer float64) {
	b.Helper()
	used, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	processes, err := chromedp.CallBrowser(b.ctx, systeminfo.GetProcessInfo, struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range processes.ProcessInfo {
		if p.Type == "renderer" {
			renderer = max(renderer, private(b.T, int(p.ID)))
		}
	}
	if renderer == 0 {
		b.Fatal("there is no renderer")
	}
	return used.UsedSize, renderer
}

// private is the memory of a process that it shares with no other, in bytes.
func private(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, match := range regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty): +(\d+) kB`).FindAllStringSubmatch(string(status), -1) {
		kib, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += kib * 1024
	}
	return sum
}

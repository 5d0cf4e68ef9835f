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

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// What a page with many nodes may take: seconds and MiB. Times are three times the goal, as tests run on machines that
// do other things as well.
const (
	many       = 5000
	mostPaint  = 3 * time.Second
	mostUpdate = 300 * time.Millisecond
	mostMemory = 150 << 20
)

// stopwatch notes when the first square was on the screen, and how long it takes from a message of the server until
// what it changes is drawn.
const stopwatch = `
window.took = { updates: [] };
const add = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, listener) {
	add.call(this, name, (event) => {
		const begun = performance.now();
		listener(event);
		requestAnimationFrame(() => setTimeout(() => {
			const ended = performance.now();
			if (name === "board") took.paint ??= ended;
			if (name === "change") took.updates.push(ended - begun);
		}));
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
	b.before(stopwatch)
	b.watch(nil)
	b.do(chromedp.Navigate(address))
	b.until("the first picture is drawn", `took.paint !== undefined`)
	paint := eval[float64](b, `took.paint`)
	b.sees(".caption", "Waiting · 2497", "Complete · 2000")

	const changes = 20
	for i := range changes {
		f.becomes(2003+i, v1alpha1.StatusInProgress)
	}
	b.sees(".caption", fmt.Sprintf("Current batch · %d", 3+changes))
	f.sync()
	b.sees("#statuses", fmt.Sprintf("%d in progress", 3+changes))
	// The longest is that of a busy machine; what an update costs on a fleet of this size raises all of them.
	median := eval[float64](b, `took.updates.toSorted((a, b) => a - b)[took.updates.length - 1 >> 1] ?? 0`)
	updates := eval[int](b, `took.updates.length`)

	heap, renderer := b.memory()
	t.Logf("%d nodes: first picture after %.0f ms; %d updates, half within %.1f ms; JavaScript heap %.1f MiB, renderer %.1f MiB",
		many, paint, updates, median, mib(heap), mib(renderer))
	if paint > float64(mostPaint.Milliseconds()) {
		t.Errorf("the first picture was there after %.0f ms", paint)
	}
	if updates == 0 || median > float64(mostUpdate.Milliseconds()) {
		t.Errorf("%d updates, and half took more than %.1f ms", updates, median)
	}
	if renderer > mostMemory {
		t.Errorf("the page takes %.1f MiB", mib(renderer))
	}
	b.picture("")
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }

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

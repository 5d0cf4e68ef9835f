//go:build integration

package board

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestLive: what changes in the cluster changes on the page, and a picture that is old says so.
func TestLive(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cpwww")
	through := newLine(t, c.board(t, "gpu-init"))
	b := open(t, through.address, "ERR_", "Failed to load resource")
	b.sees("h2", "1 of 5 nodes complete")

	x, y := b.square(f.nodes[1].Name)
	before := b.colour(x, y)
	begun := time.Now()
	f.becomes(1, v1alpha1.StatusErroring)
	after := before
	for after == before && time.Since(begun) < patience {
		after = b.colour(x, y)
	}
	took := time.Since(begun)
	if after[0] < after[2] || before[0] > before[2] {
		t.Errorf("the square was %v, not blue, or is %v, not red", before, after)
	}
	t.Logf("a change was seen after %v", took.Round(time.Millisecond))
	if took > 3*time.Second { // one second on a machine that does nothing else
		t.Errorf("a change was seen after %v", took)
	}

	through.cut()
	b.sees("#lost", "The connection to kubectl skyhook board is lost", "This picture is of")
	f.becomes(2, v1alpha1.StatusComplete)
	f.sync()
	through.mend(t)
	b.until("the connection is back", `document.querySelector("#lost").hidden`)
	b.sees("h2", "2 of 5 nodes complete")
	b.sees(".caption", "Complete · 2")
}

// TestSlept: a page whose connection broke without a word, as in a machine that sleeps, says so, and is right again by
// itself. What it says of times does not depend on the machine's clock, and goes on where nothing happens.
func TestSlept(t *testing.T) {
	c := newCluster(t)
	t.Parallel() // as it waits most of its time
	put(t, c, "sleeps", "cpew")
	through := newLine(t, c.board(t, "sleeps"))
	b := blank(t)
	b.before(`{ const right = Date.now; window.wrong = -86400e3; Date.now = () => right() + wrong; }`)
	b.do(chromedp.Navigate(through.address))
	const minutes = `/StepFailed for \d+m/.test(document.querySelector("#attention").innerText)`
	b.until("the clock of the machine is of no account", minutes)
	b.opensFirst()
	b.sees("#pane .cause time", "m")
	for _, place := range []string{"#attention .what", "#pane .cause time"} {
		text := fmt.Sprintf("document.querySelector(%q).innerText", place)
		b.until("time passes", fmt.Sprintf("%s !== %q", text, eval[string](b, text)))
	}

	through.stall()
	eval[any](b, `wrong += 2 * 86400e3; null`)
	b.sees("#lost", "The connection to kubectl skyhook board is lost", "This picture is of")
	through.carryOn()
	b.until("the connection is back", `document.querySelector("#lost").hidden`)
	b.until("the clock of the machine is of no account", minutes)
}

// colour is that of the canvas beside the sign of the square whose middle is at a point.
func (b *tab) colour(x, y float64) [4]int {
	b.Helper()
	return eval[[4]int](b, fmt.Sprintf(`(() => {
		const canvas = document.querySelector(".grid canvas"), box = canvas.getBoundingClientRect();
		const [x, y] = [(%f - box.x) * devicePixelRatio, (%f - box.y) * devicePixelRatio];
		return [...canvas.getContext("2d").getImageData(Math.round(x - 7 * devicePixelRatio), Math.round(y), 1, 1).data];
	})()`, x, y))
}

// line leads to a board, and can be cut.
type line struct {
	address, to, at string
	mu              sync.Mutex
	listener        net.Listener
	open            []net.Conn
	// still is held while nothing gets through.
	still sync.RWMutex
}

// stall lets nothing through, and does not tell.
func (l *line) stall() { l.still.Lock() }

func (l *line) carryOn() { l.still.Unlock() }

// slow is one end of a connection through a line.
type slow struct {
	net.Conn
	line *line
}

// Read lets a line stall before it takes anything.
func (s *slow) Read(into []byte) (int, error) {
	n, err := s.Conn.Read(into)
	s.line.still.RLock()
	defer s.line.still.RUnlock()
	return n, err
}

func newLine(t *testing.T, address string) *line {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{to: u.Host, at: "127.0.0.1:0"}
	l.mend(t)
	t.Cleanup(l.cut)
	u.Host = l.at
	l.address = u.String()
	return l
}

// cut ends all connections and lets no new one through.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.listener.Close()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// mend listens at the same address again.
func (l *line) mend(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", l.at)
	if err != nil {
		t.Fatal(err)
	}
	l.listener, l.at = listener, listener.Addr().String()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
}

func (l *line) carry(from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.to)
	if err != nil {
		_ = from.Close()
		return
	}
	l.mu.Lock()
	l.open = append(l.open, from, to)
	l.mu.Unlock()
	go func() { _, _ = io.Copy(to, &slow{from, l}); _ = to.Close() }()
	_, _ = io.Copy(from, &slow{to, l})
	_ = from.Close()
}

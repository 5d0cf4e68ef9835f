package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// Anybody who reaches the port can ask: the API server shows no certificate unless its administrator gives it one. So
// what one review may cost is bounded before it is read, and so is how many are read at a time.
const (
	// maxBody is how many bytes a review may have: the API server takes objects of 3 MiB, and sends two of them. It is
	// controller-runtime's bound as well.
	maxBody = 7 << 20
	// maxValues is how many values a review may hold. Each costs memory when it is decoded, however few bytes it has. The
	// most that the CRD allows is about 260,000: the keys of 128 configMaps and their dependencies, twice, and who manages
	// each of them.
	maxValues = 300_000
	// maxReviews is how many are answered at a time, and maxWaiting how many may wait for that.
	maxReviews, maxWaiting = 4, 64
	// answerTime is what the chart has the API server wait. Nobody needs a later answer.
	answerTime = 10 * time.Second
	// readTime is for all of the body. The API server has it in memory and sends it at once.
	readTime = 2 * time.Second
)

// gate lets few reviews through at a time, each of them bounded.
type gate struct {
	next  http.Handler
	clock clock.PassiveClock
	// queue has all reviews that are here, running those that are answered.
	queue, running chan struct{}
}

// gated puts handlers behind one gate: what they cost adds up.
func gated(c clock.PassiveClock, handlers map[string]http.Handler) map[string]http.Handler {
	queue, running := make(chan struct{}, maxReviews+maxWaiting), make(chan struct{}, maxReviews)
	all := map[string]http.Handler{}
	for path, h := range handlers {
		all[path] = &gate{next: h, clock: c, queue: queue, running: running}
	}
	return all
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	if !g.enter(ctx) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many reviews at a time; try again", http.StatusTooManyRequests)
		return
	}
	defer g.leave()
	// Who sends slowly must not keep others out. A connection that knows no deadline is a test's.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(g.clock.Now().Add(readTime))
	done := func() { _ = deadlines.SetReadDeadline(time.Time{}) }
	body := &bounded{body: http.MaxBytesReader(w, r.Body, maxBody), done: done}
	r = r.WithContext(ctx)
	r.Body = body
	g.next.ServeHTTP(w, r)
}

func (g *gate) enter(ctx context.Context) bool {
	select {
	case g.queue <- struct{}{}:
	default:
		return false
	}
	select {
	case g.running <- struct{}{}:
		return true
	case <-ctx.Done():
		<-g.queue
		return false
	}
}

func (g *gate) leave() {
	<-g.running
	<-g.queue
}

// bounded is a body that ends with an error as soon as it holds more JSON values than a review may.
type bounded struct {
	body io.ReadCloser
	// done is called when all of the body was read. Of one that did not come the HTTP server would wait for the rest.
	done   func()
	values int
	// inText and escaped say where in a JSON string the next byte is.
	inText, escaped bool
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	for _, c := range p[:n] {
		b.count(c)
	}
	if errors.Is(err, io.EOF) {
		b.done()
	}
	if b.values > maxValues {
		return 0, fmt.Errorf("the review holds more than %d values; make the object smaller", maxValues)
	}
	return n, err
}

// count counts what begins values, or follows them: the text need not be JSON for that to be a bound.
func (b *bounded) count(c byte) {
	switch {
	case b.escaped:
		b.escaped = false
	case b.inText:
		b.escaped, b.inText = c == '\\', c != '"'
	case c == '"':
		b.inText = true
	case c == ',' || c == '{' || c == '[':
		b.values++
	}
}

func (b *bounded) Close() error { return b.body.Close() }

package steplog_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// reader takes what is written to it only when it is told to.
type reader struct {
	mu     sync.Mutex
	open   sync.Mutex
	writes int
	got    bytes.Buffer
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.writes++
	r.mu.Unlock()
	r.open.Lock()
	defer r.open.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.Write(p)
}

func (r *reader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

const patience = 100 * time.Millisecond

func TestRelay_HandsOnEverythingInOrder(t *testing.T) {
	var sink reader
	relay := steplog.NewRelay(&sink, 100, time.Minute)
	var want strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&want, "line %d\n", i)
		write(t, relay, fmt.Sprintf("line %d\n", i))
	}
	relay.Flush(time.Minute)
	if sink.text() != want.String() {
		t.Errorf("%d of %d bytes", len(sink.text()), want.Len())
	}
}

// TestRelay_StalledReader: the writer waits once, then not any more; the reader
// learns what is missing, and gets the newest lines.
func TestRelay_StalledReader(t *testing.T) {
	var sink reader
	sink.open.Lock()
	relay := steplog.NewRelay(&sink, 20, patience)
	write(t, relay, "first")
	for sink.begun() == 0 {
		relay.Flush(time.Millisecond)
	}
	began := time.Now()
	for i := range 1000 {
		write(t, relay, fmt.Sprintf("line %3d\n", i))
	}
	if took := time.Since(began); took < patience || took > 50*patience {
		t.Errorf("the writer was held up for %v", took)
	}
	relay.Flush(time.Millisecond)
	sink.open.Unlock()
	relay.Flush(time.Minute)
	want := "first\n[... 998 lines (8982 bytes) are missing here: nobody read them in time ...]\nline 998\nline 999\n"
	if sink.text() != want {
		t.Errorf("got %q", sink.text())
	}
}

func (r *reader) begun() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

// slow is a reader that takes its time, but takes all.
type slow struct{ reader }

func (s *slow) Write(p []byte) (int, error) {
	<-time.After(patience / 20)
	return s.reader.Write(p)
}

// TestRelay_SlowReader loses nothing: the writer goes at its pace.
func TestRelay_SlowReader(t *testing.T) {
	var sink slow
	relay := steplog.NewRelay(&sink, 20, 10*patience)
	for i := range 100 {
		write(t, relay, fmt.Sprintf("line %3d\n", i))
	}
	relay.Flush(time.Minute)
	if n := strings.Count(sink.text(), "\n"); n != 100 || strings.Contains(sink.text(), "missing") {
		t.Errorf("%d lines: %q", n, sink.text())
	}
}

// TestRelay_ReaderThatIsGone is none to wait for.
func TestRelay_ReaderThatIsGone(t *testing.T) {
	relay := steplog.NewRelay(broken{}, 20, time.Minute)
	for range 100 {
		write(t, relay, "a line of text\n")
	}
	relay.Flush(time.Minute)
}

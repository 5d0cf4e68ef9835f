package steplog

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// relayChunk is how much is handed on at once.
const relayChunk = 32 << 10

// Relay hands on what is written to it in the background, so that a reader who
// stalls does not hold up the writer. It keeps what is not handed on yet up to
// a limit; beyond it the oldest goes, and a notice tells how much. Each write
// counts as one piece and should be a line.
//
// It is safe for use by several goroutines, and its writes never fail.
type Relay struct {
	sink  io.Writer
	limit int
	// patience is how long a write waits for a slow reader before it takes the
	// reader for stalled.
	patience time.Duration

	mu      sync.Mutex
	changed sync.Cond
	pieces  [][]byte
	size    int
	// busy is a chunk on its way to the sink; moved counts those that arrived.
	busy    bool
	moved   int
	stalled bool
	// lost are the pieces dropped since the last notice, and their bytes.
	lost, lostBytes int
	midLine         bool
}

// NewRelay starts to hand on to the sink, whose errors are ignored. It goes on
// until the process ends: a write that hangs cannot be taken back.
func NewRelay(sink io.Writer, limit int, patience time.Duration) *Relay {
	r := &Relay{sink: sink, limit: limit, patience: patience}
	r.changed.L = &r.mu
	go func() {
		for {
			// A reader that is gone is none to wait for.
			_, _ = r.sink.Write(r.next())
		}
	}()
	return r
}

func (r *Relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fits := func() bool { return r.size+len(p) <= r.limit || len(r.pieces) == 0 }
	if !r.stalled && !r.await(r.patience, fits) {
		r.stalled = true
	}
	for !fits() {
		r.lost++
		r.lostBytes += len(r.pieces[0])
		r.drop()
	}
	r.pieces = append(r.pieces, bytes.Clone(p))
	r.size += len(p)
	r.changed.Broadcast()
	return len(p), nil
}

// Flush waits until everything is handed on, and gives up on a reader that has
// taken nothing for the given time.
func (r *Relay) Flush(patience time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.await(patience, func() bool { return len(r.pieces) == 0 && !r.busy })
}

// next waits for the next chunk, under the lock only while it is made.
func (r *Relay) next() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		r.busy, r.stalled = false, false
		r.moved++
		r.changed.Broadcast()
	}
	for len(r.pieces) == 0 {
		r.changed.Wait()
	}
	r.busy = true
	chunk := r.notice()
	for len(r.pieces) > 0 && (len(chunk) == 0 || len(chunk)+len(r.pieces[0]) <= relayChunk) {
		chunk = append(chunk, r.pieces[0]...)
		r.drop()
	}
	r.midLine = chunk[len(chunk)-1] != '\n'
	return chunk
}

// notice tells what is missing, on a line of its own.
func (r *Relay) notice() []byte {
	if r.lost == 0 {
		return nil
	}
	var text []byte
	if r.midLine {
		text = append(text, '\n')
	}
	text = fmt.Appendf(text, "[... %d lines (%d bytes) are missing here: nobody read them in time ...]\n",
		r.lost, r.lostBytes)
	r.lost, r.lostBytes = 0, 0
	return text
}

func (r *Relay) drop() {
	r.size -= len(r.pieces[0])
	r.pieces[0] = nil
	r.pieces = r.pieces[1:]
}

// await waits, with the lock held, until a condition holds. It gives up, and
// returns false, when nothing has moved for the given time.
func (r *Relay) await(patience time.Duration, holds func() bool) bool {
	for !holds() {
		before, expired := r.moved, false
		timer := time.AfterFunc(patience, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			expired = true
			r.changed.Broadcast()
		})
		for r.moved == before && !expired && !holds() {
			r.changed.Wait()
		}
		timer.Stop()
		if expired && !holds() {
			return false
		}
	}
	return true
}

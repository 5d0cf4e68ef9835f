package main

import (
	"testing"
	"time"
)

// TestYardstick: the work is done, costs CPU and not much, and what it costs is told by its median.
func TestYardstick(t *testing.T) {
	y := newYardstick()
	var samples []usage
	for range 5 {
		took, err := y.once()
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, usage{yardstick: took})
	}
	// A busy machine, or one that looks for data races, may take long.
	if got := pieceOfWork(samples); got < 50*time.Microsecond || got > 200*time.Millisecond {
		t.Errorf("a piece of work takes %s", got)
	}
	if last := y.buffer[len(y.buffer)-1]; last == 0 && y.buffer[0] == 0 {
		t.Error("nothing was encoded")
	}
	samples = []usage{{yardstick: 3}, {yardstick: 1}, {yardstick: 2}}
	if got := pieceOfWork(samples); got != 2 {
		t.Errorf("the median is %d", got)
	}
}

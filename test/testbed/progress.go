//go:build linux

package testbed

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// breath is after how long a step that goes on says so.
const breath = 15 * time.Second

// progress prints one line when a step starts, one when it ends, and some between if it takes long.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

func newProgress(w io.Writer) *progress { return &progress{w: w, start: time.Now()} }

// step announces what and returns the function that reports its end; a failed step prints nothing more, for its error
// is the caller's to show.
func (p *progress) step(format string, args ...any) func(*error) {
	what, start := fmt.Sprintf(format, args...), time.Now()
	p.line("%s ...", what)
	ended := make(chan struct{})
	go func() {
		for tick := time.NewTicker(breath); ; {
			select {
			case <-tick.C:
				p.line("%s: %.0f s so far", what, time.Since(start).Seconds())
			case ended <- struct{}{}:
				tick.Stop()
				return
			}
		}
	}()
	return func(err *error) {
		<-ended // it prints no more
		if *err == nil {
			p.line("%s: done in %.1f s", what, time.Since(start).Seconds())
		}
	}
}

func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "testbed %6.1f s  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

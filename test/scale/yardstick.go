package main

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// yardstickNodes are as many as take about half a millisecond.
const yardstickNodes = 64

// yardstick is a fixed piece of work: encoding nodes. What it takes tells how fast the machine is meanwhile, so that a
// slower one is not taken for an operator that needs more, nor the other way round.
type yardstick struct {
	nodes  []*corev1.Node
	buffer []byte
}

func newYardstick() *yardstick {
	y := &yardstick{}
	size := 0
	for i := range yardstickNodes {
		n := newNode(i)
		y.nodes, size = append(y.nodes, n), max(size, n.Size())
	}
	y.buffer = make([]byte, size)
	return y
}

// once does the work and returns the CPU time that it took.
func (y *yardstick) once() (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin, err := threadCPU()
	if err != nil {
		return 0, err
	}
	for _, n := range y.nodes {
		if _, err := n.MarshalTo(y.buffer); err != nil {
			return 0, fmt.Errorf("encode a node: %w", err)
		}
	}
	end, err := threadCPU()
	return end - begin, err
}

// threadCPU is the CPU time of the calling thread.
func threadCPU() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of a thread: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// pieceOfWork is the median of what the yardstick took.
func pieceOfWork(samples []usage) time.Duration {
	var took []time.Duration
	for _, s := range samples {
		took = append(took, s.yardstick)
	}
	return quantile(took, 0.5)
}

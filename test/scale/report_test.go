package main

import (
	"strings"
	"testing"
	"time"
)

// TestBenchmarks: benchstat reads a line for each result, with its figures and the machine's settings.
func TestBenchmarks(t *testing.T) {
	r := resultOf(50, map[string]float64{"seconds": 1.5, "rssPeak": 66})
	got := string(benchmarks(Pace{Container: time.Second}, Program{Memory: 226}, []Result{r, r}))
	line := "BenchmarkRollout/world=plain/phase=install/nodes=50/packages=2 1 1.5 seconds 66 rssPeak\n"
	if _, after, ok := strings.Cut(got, "memory-limit: 226 MiB\ncontainer: 1s\n"); !ok || after != line+line {
		t.Errorf("got %s", got)
	}
}

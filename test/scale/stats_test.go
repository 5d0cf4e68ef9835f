package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(0, 1e-9)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, c := range []struct {
		name   string
		values []time.Duration
		q      float64
		want   time.Duration
	}{
		{"none", nil, 0.5, 0},
		{"one", []time.Duration{7}, 0.99, 7},
		{"half of two is the lower", []time.Duration{9, 1}, 0.5, 1},
		{"half", hundred, 0.5, 50},
		{"99 %", hundred, 0.99, 99},
		{"all", hundred, 1, 100},
		{"least", hundred, 0, 1},
	} {
		if got := quantile(c.values, c.q); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestHistogram(t *testing.T) {
	h := histogram{buckets: map[float64]float64{1: 10, 2: 30, 4: 40, math.Inf(1): 50}, sum: 99}
	for q, want := range map[float64]float64{0.1: 0.5, 0.2: 1, 0.4: 1.5, 0.8: 4, 0.99: 4} {
		if got := h.quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
	earlier := histogram{buckets: map[float64]float64{1: 10, 2: 10, 4: 10, math.Inf(1): 10}, sum: 9}
	d := h.minus(earlier)
	if d.count() != 40 || d.sum != 90 || d.quantile(0.5) != 2 {
		t.Errorf("after the earlier one: %+v, half %g", d, d.quantile(0.5))
	}
	if got := (histogram{}).quantile(0.5) + (histogram{}).most(); got != 0 {
		t.Errorf("of none: %g", got)
	}
	if got := h.most(); !math.IsInf(got, 1) {
		t.Errorf("most is %g, with values beyond the last bound", got)
	}
	if got := d.minus(histogram{buckets: map[float64]float64{2: 0, 4: 10, math.Inf(1): 20}}).most(); got != 2 {
		t.Errorf("most is %g, want 2", got)
	}
}

func TestLimits(t *testing.T) {
	start := time.Now()
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	second := func(n, a, b, machine int) usage {
		return usage{
			at: start.Add(seconds(n)), machine: seconds(machine),
			process: map[string]time.Duration{"a": seconds(a), "b": seconds(b)},
		}
	}
	got := limits([]usage{
		second(0, 0, 0, 0),
		second(1, 1, 0, 2), // both processors are busy, one with a
		second(2, 1, 1, 3), // one is free
		second(3, 1, 1, 5), // both are busy with something else
		second(4, 1, 3, 7), // both are busy with b
		second(5, 1, 5, 9),
	}, 2)
	want := map[string]float64{"a": 0.2, limitNobody: 0.2, limitOthers: 0.2, "b": 0.4}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if got := limits([]usage{second(0, 0, 0, 0)}, 2); len(got) != 0 {
		t.Errorf("of one sample: %v", got)
	}
}

package main

import (
	"math"
	"testing"
	"time"

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

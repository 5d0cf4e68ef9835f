package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// someSamples are those of an hour with two operators, of which the second starts after 27 minutes and forgets as much as
// it learns from minute 40 on; of gives the heap at a minute.
func someSamples(of func(minute float64) float64) []sample {
	var all []sample
	for at := time.Duration(0); at < time.Hour+5*time.Minute; at += 10 * time.Second {
		s := sample{At: at, Life: 1, Age: at}
		if at > 27*time.Minute {
			s.Life, s.Age = 2, at-27*time.Minute
		}
		v := of(at.Minutes())
		s.RSS, s.HeapLive = 2*v, v
		all = append(all, s)
	}
	return all
}

func TestCompareWork(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(float64) float64
		bad  bool
	}{
		{name: "flat", of: func(float64) float64 { return 100 }},
		{name: "shrinks", of: func(m float64) float64 { return 200 - m }},
		{name: "a peak between", of: func(m float64) float64 {
			if m > 49 && m < 55 {
				return 400
			}
			return 100
		}},
		{name: "few peaks late", of: func(m float64) float64 {
			if int(m)%4 == 0 {
				return 300
			}
			return 100
		}},
		{name: "less while nothing is forgotten yet", of: func(m float64) float64 {
			if m < 40 {
				return 20
			}
			return 100
		}},
		{name: "more after the end", of: func(m float64) float64 {
			if m > 60 {
				return 500
			}
			return 100
		}},
		{name: "grows by a hundredth a minute", of: func(m float64) float64 { return 100 * math.Pow(1.01, m) }, bad: true},
		{name: "grows in the last life", bad: true, of: func(m float64) float64 {
			if m < 40 {
				return 200
			}
			return 100 + 2*(m-40)
		}},
	} {
		for _, got := range compareWork(someSamples(c.of), soakPlan{Length: time.Hour}) {
			if got.ok() == c.bad {
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
}

func TestTooFewSamples(t *testing.T) {
	all := someSamples(func(float64) float64 { return 100 })
	for _, samples := range [][]sample{nil, all[:100]} {
		if got := compareWork(samples, soakPlan{Length: time.Hour}); got[0].ok() || !strings.Contains(got[0].String(), "too few") {
			t.Errorf("%v", got[0])
		}
	}
}

func TestCompareRests(t *testing.T) {
	first := process{RSS: 200, HeapLive: 60, Goroutines: 100}
	for _, c := range []struct {
		name      string
		end, anew process
		bad       []int
	}{
		{name: "equal", end: first, anew: first},
		{name: "a little more", end: process{HeapLive: 70, Goroutines: 138}, anew: process{RSS: 219, HeapLive: 65, Goroutines: 119}},
		{name: "kept by the runtime", end: process{RSS: 400, HeapLive: 60, Goroutines: 100}, anew: first},
		{name: "heap of the process", end: process{HeapLive: 67, Goroutines: 100}, anew: first, bad: []int{0}},
		{name: "goroutines of the process", end: process{HeapLive: 60, Goroutines: 121}, anew: first, bad: []int{1}},
		{
			name: "the cluster", end: process{HeapLive: 67, Goroutines: 121}, anew: process{RSS: 221, HeapLive: 67, Goroutines: 121},
			bad: []int{2, 3, 4},
		},
	} {
		var bad []int
		for i, got := range (rests{first, c.end, c.anew}).compare() {
			if !got.ok() {
				bad = append(bad, i)
			}
		}
		if !slices.Equal(bad, c.bad) {
			t.Errorf("%s: %v are bad, want %v", c.name, bad, c.bad)
		}
	}
}

func TestCompareConflicts(t *testing.T) {
	samples := []sample{
		{Life: 1, Requests: counts{"PATCH 200": 10, "PATCH 409": 9}},
		{Life: 1, Requests: counts{"PATCH 200": 90, "PATCH 409": 10}},
		{Life: 2, Requests: counts{"POST 201": 98, "PATCH 409": 2}},
	}
	if got := compareConflicts(requestsOf(samples)); got.ok() || got.Late != 6 {
		t.Errorf("%s", got)
	}
	if got := compareConflicts(requestsOf(samples[2:])); !got.ok() || got.Late != 2 {
		t.Errorf("%s", got)
	}
	if got := compareConflicts(nil); !got.ok() {
		t.Errorf("%s", got)
	}
}

package main

import (
	"slices"
	"testing"
)

func TestCompareRests(t *testing.T) {
	first := process{RSS: 200, HeapLive: 60, Goroutines: 100}
	for _, c := range []struct {
		name              string
		middle, end, anew process
		bad               []int
	}{
		{name: "equal", middle: first, end: first, anew: first},
		{
			name: "a little more", middle: first,
			end: process{RSS: 219, HeapLive: 65, Goroutines: 119}, anew: process{RSS: 219, HeapLive: 65, Goroutines: 119},
		},
		{
			name:   "kept by the runtime",
			middle: process{RSS: 400, HeapLive: 60, Goroutines: 100}, end: process{RSS: 400, HeapLive: 60, Goroutines: 100}, anew: first,
		},
		{name: "less at the end", middle: process{RSS: 400, HeapLive: 90, Goroutines: 190}, end: first, anew: first},
		{
			name: "the process, by work", middle: first, end: process{RSS: 221, HeapLive: 71, Goroutines: 121}, anew: first,
			bad: []int{0, 1, 2, 3, 4},
		},
		{
			name:   "the process, from the beginning",
			middle: process{RSS: 200, HeapLive: 71, Goroutines: 121}, end: process{RSS: 200, HeapLive: 71, Goroutines: 121}, anew: first,
			bad: []int{3, 4},
		},
		{
			name: "the cluster", middle: process{RSS: 221, HeapLive: 71, Goroutines: 121},
			end: process{RSS: 221, HeapLive: 71, Goroutines: 121}, anew: process{RSS: 221, HeapLive: 71, Goroutines: 121},
			bad: []int{5, 6, 7},
		},
	} {
		var bad []int
		for i, got := range (rests{first, c.middle, c.end, c.anew}).compare() {
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

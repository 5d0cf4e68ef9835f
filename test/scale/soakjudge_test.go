package main

import (
	"strings"
	"testing"
	"time"
)

// someSamples are those of an hour with two operators; of gives memory and heap at a minute.
func someSamples(of func(minute float64) float64) []sample {
	var all []sample
	for at := time.Duration(0); at < time.Hour+5*time.Minute; at += 10 * time.Second {
		s := sample{At: at, Life: 1, Age: at}
		if at > 35*time.Minute {
			s.Life, s.Age = 2, at-35*time.Minute
		}
		v := of(at.Minutes())
		s.RSS, s.HeapLive = 2*v, v
		all = append(all, s)
	}
	return all
}

func TestCompareWork(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     func(float64) float64
		failed string
	}{
		{name: "flat", of: func(float64) float64 { return 100 }},
		{name: "shrinks", of: func(m float64) float64 { return 200 - m }},
		{name: "a peak between", of: func(m float64) float64 {
			if m > 25 && m < 34 {
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
		{name: "less right after a start", of: func(m float64) float64 {
			if m < 1 || m > 35 && m < 36 {
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
		{
			name: "grows all the time", of: func(m float64) float64 { return 100 + m },
			failed: "under load: resident memory,under load: heap after a collection,last operator under load: heap after a collection",
		},
		{
			name: "grows in the last life", failed: "last operator under load: heap after a collection",
			of: func(m float64) float64 {
				if m < 35 {
					return 200
				}
				return 100 + 2*(m-35)
			},
		},
	} {
		var failed []string
		for _, got := range compareWork(someSamples(c.of), time.Hour) {
			if !got.ok() {
				failed = append(failed, got.What)
			}
		}
		if got := strings.Join(failed, ","); got != c.failed {
			t.Errorf("%s: failed are %q, not %q", c.name, got, c.failed)
		}
	}
}

func TestTooFewSamples(t *testing.T) {
	all := someSamples(func(float64) float64 { return 100 })
	for _, samples := range [][]sample{nil, all[:100]} {
		if got := compareWork(samples, time.Hour); got[0].ok() || !strings.Contains(got[0].String(), "too few") {
			t.Errorf("%v", got[0])
		}
	}
}

func TestCompareIdle(t *testing.T) {
	begin := process{RSS: 200, HeapLive: 60, Goroutines: 100}
	for _, c := range []struct {
		name string
		end  process
		ok   [3]bool
	}{
		{"equal", begin, [3]bool{true, true, true}},
		{"a little more", process{RSS: 219, HeapLive: 65, Goroutines: 109}, [3]bool{true, true, true}},
		{"more memory", process{RSS: 221, HeapLive: 65, Goroutines: 100}, [3]bool{false, true, true}},
		{"more heap", process{RSS: 150, HeapLive: 67, Goroutines: 100}, [3]bool{true, false, true}},
		{"more goroutines", process{RSS: 100, HeapLive: 50, Goroutines: 111}, [3]bool{true, true, false}},
	} {
		for i, got := range compareIdle(begin, c.end) {
			if got.ok() != c.ok[i] {
				t.Errorf("%s: %s", c.name, got)
			}
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

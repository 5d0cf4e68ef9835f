package main

import (
	"maps"
	"math"
	"slices"
	"time"
)

// quantile of values by the nearest rank; 0 of none.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// histogram counts values by the upper bounds of its buckets, each with all below it, as Prometheus has it.
type histogram struct {
	buckets map[float64]float64
	sum     float64
}

func (h histogram) minus(earlier histogram) histogram {
	d := histogram{buckets: map[float64]float64{}, sum: h.sum - earlier.sum}
	for bound, n := range h.buckets {
		d.buckets[bound] = n - earlier.buckets[bound]
	}
	return d
}

func (h histogram) count() float64 { return h.buckets[math.Inf(1)] }

// quantile within the bucket that it falls into, as if its values were spread evenly; 0 of none. Of values beyond the
// last bound, that bound.
func (h histogram) quantile(q float64) float64 {
	rank, below, lower := q*h.count(), 0.0, 0.0
	if rank == 0 {
		return 0
	}
	for _, bound := range slices.Sorted(maps.Keys(h.buckets)) {
		n := h.buckets[bound]
		if n >= rank {
			if math.IsInf(bound, 1) {
				return lower
			}
			return lower + (bound-lower)*(rank-below)/(n-below)
		}
		below, lower = n, bound
	}
	return lower
}

// most is the bound that no value exceeds, the least one of the buckets' bounds; 0 of none.
func (h histogram) most() float64 {
	if h.count() == 0 {
		return 0
	}
	for _, bound := range slices.Sorted(maps.Keys(h.buckets)) {
		if h.buckets[bound] == h.count() {
			return bound
		}
	}
	return 0
}

// usage is the CPU time that each process has used by a moment.
type usage struct {
	at      time.Time
	process map[string]time.Duration
}
